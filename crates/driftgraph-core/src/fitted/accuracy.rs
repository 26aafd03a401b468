//! How well predictions met what was held out.

use super::law::Law;

/// How well the predictions of some cells were.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Accuracy {
    /// Number of cells predicted.
    pub n_cells: usize,
    /// Mean continuous ranked probability score, in deviations of the variable; smaller is better.
    pub relative_crps: f64,
    /// The same in the variable's own unit; `None` over several variables.
    pub crps: Option<f64>,
    /// Root of the mean squared error of the mean, in deviations of the variable.
    pub relative_rmse: f64,
    /// Share of outcomes inside the 50 % band; `None` for a method without bands.
    pub coverage_50: Option<f64>,
    /// Share of outcomes inside the 90 % band; `None` for a method without bands.
    pub coverage_90: Option<f64>,
}

/// How well a method predicted, over all variables and one by one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MethodAccuracy {
    /// Name of the method.
    pub method: &'static str,
    /// Over all variables.
    pub overall: Accuracy,
    /// By variable; `None` where nothing was held out.
    pub variables: Vec<Option<Accuracy>>,
}

/// Sums over cells, per variable.
#[derive(Debug)]
pub(super) struct Tally {
    method: &'static str,
    scales: Vec<f64>,
    sums: Vec<Sums>,
    with_bands: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: usize,
    crps: f64,
    square: f64,
    inside: [usize; 2],
}

impl Tally {
    /// An empty tally; `scales` are the variables' deviations.
    pub(super) fn new(method: &'static str, scales: &[f64], with_bands: bool) -> Self {
        Self {
            method,
            scales: scales.to_vec(),
            sums: vec![Sums::default(); scales.len()],
            with_bands,
        }
    }

    /// Counts one prediction.
    pub(super) fn add(&mut self, variable: usize, law: &Law, outcome: f64) {
        let sums = &mut self.sums[variable];
        sums.n += 1;
        sums.crps += law.crps(outcome);
        sums.square += (law.mean() - outcome).powi(2);
        if self.with_bands {
            for (inside, (low, high)) in sums.inside.iter_mut().zip([(0.25, 0.75), (0.05, 0.95)]) {
                let band = law.quantile(low)..=law.quantile(high);
                *inside += usize::from(band.contains(&outcome));
            }
        }
    }

    /// The means; `None` where nothing was predicted.
    pub(super) fn finish(&self) -> Option<MethodAccuracy> {
        let mut all = Sums::default();
        for (sums, scale) in self.sums.iter().zip(&self.scales) {
            all.n += sums.n;
            all.crps += sums.crps / scale;
            all.square += sums.square / (scale * scale);
            (0..2).for_each(|idx| all.inside[idx] += sums.inside[idx]);
        }
        let one = |(sums, &scale): (&Sums, &f64)| {
            let scaled =
                Sums { crps: sums.crps / scale, square: sums.square / (scale * scale), ..*sums };
            let accuracy = self.accuracy(&scaled)?;
            Some(Accuracy { crps: Some(sums.crps / sums.n as f64), ..accuracy })
        };
        Some(MethodAccuracy {
            method: self.method,
            overall: self.accuracy(&all)?,
            variables: self.sums.iter().zip(&self.scales).map(one).collect(),
        })
    }

    fn accuracy(&self, sums: &Sums) -> Option<Accuracy> {
        let n = sums.n as f64;
        let coverage = |inside: usize| self.with_bands.then_some(inside as f64 / n);
        (sums.n > 0).then(|| Accuracy {
            n_cells: sums.n,
            relative_crps: sums.crps / n,
            crps: None,
            relative_rmse: (sums.square / n).sqrt(),
            coverage_50: coverage(sums.inside[0]),
            coverage_90: coverage(sums.inside[1]),
        })
    }
}
