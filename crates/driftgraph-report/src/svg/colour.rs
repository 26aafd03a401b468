//! Colours that most colour-blind readers can tell apart, and the ramp from absent to certain.

/// Text and lines that must be read.
pub(crate) const TEXT: &str = "#24292f";
/// Text that explains other text.
pub(crate) const FAINT_TEXT: &str = "#57606a";
/// Lines that only guide the eye.
pub(crate) const GUIDE: &str = "#afb8c1";
/// Effects of positive sign (blue of Okabe and Ito 2008).
pub(crate) const POSITIVE: &str = "#0072b2";
/// Effects of negative sign, and outlines that must stand out from blue (vermilion, same palette).
pub(crate) const NEGATIVE: &str = "#d55e00";
/// Effects of unknown sign.
pub(crate) const UNKNOWN: &str = "#4c566a";

/// Light, middle and dark end of the ramp in Oklab coordinates (Ottosson 2020).
const RAMP: [[f64; 3]; 3] = [[0.97, -0.004, -0.010], [0.68, -0.063, -0.090], [0.27, 0.009, -0.100]];

/// The colour of a score between 0 (absent, light) and 1 (certain, dark).
///
/// Equal steps of the score are equal distances in Oklab, where distances are perceived ones.
pub(crate) fn ramp(fraction: f64) -> String {
    let [red, green, blue] = to_rgb(ramp_oklab(fraction)).map(|channel| {
        // Rounding to the 256 levels of a screen, not a correction: the ramp lies inside sRGB.
        (255.0 * channel).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text that can be read on the colour of a score.
pub(crate) fn text_on_ramp(fraction: f64) -> &'static str {
    if ramp_oklab(fraction)[0] < 0.66 { "#ffffff" } else { TEXT }
}

/// The point of the ramp at a share of its length.
fn ramp_oklab(fraction: f64) -> [f64; 3] {
    let [light, middle, dark] = RAMP;
    let (first, second) = (distance(light, middle), distance(middle, dark));
    let along = fraction * (first + second);
    if along <= first {
        between(light, middle, along / first)
    } else {
        between(middle, dark, (along - first) / second)
    }
}

fn between(from: [f64; 3], to: [f64; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|axis| from[axis] + share * (to[axis] - from[axis]))
}

fn distance(from: [f64; 3], to: [f64; 3]) -> f64 {
    from.iter().zip(to).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Oklab to sRGB channels between 0 and 1 (matrices of Ottosson 2020).
fn to_rgb([lightness, a, b]: [f64; 3]) -> [f64; 3] {
    let cube = |value: f64| value * value * value;
    let l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
    let m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
    let s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
    let linear = [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    ];
    linear.map(|channel| {
        if channel <= 0.0031308 {
            12.92 * channel
        } else {
            1.055 * libm::pow(channel, 1.0 / 2.4) - 0.055
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_stays_on_the_screen_and_always_darkens() {
        let mut lightness = f64::INFINITY;
        for step in 0..=100 {
            let point = ramp_oklab(f64::from(step) / 100.0);
            assert!(to_rgb(point).iter().all(|channel| (0.0..=1.0).contains(channel)), "{step}");
            assert!(point[0] < lightness);
            lightness = point[0];
        }
    }

    #[test]
    fn equal_steps_look_equal() {
        let points: Vec<_> = (0..=8).map(|step| ramp_oklab(f64::from(step) / 8.0)).collect();
        let steps: Vec<f64> = points.windows(2).map(|pair| distance(pair[0], pair[1])).collect();
        let (least, most) = steps
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), &step| (least.min(step), most.max(step)));
        // The one step that cuts the corner at the middle colour is a little shorter.
        assert!(least > 0.95 * most, "{steps:?}");
    }

    #[test]
    fn white_and_black_are_those_of_the_screen() {
        assert!(to_rgb([1.0, 0.0, 0.0]).iter().all(|channel| (channel - 1.0).abs() < 1e-6));
        assert!(to_rgb([0.0, 0.0, 0.0]).iter().all(|channel| *channel == 0.0));
    }
}
