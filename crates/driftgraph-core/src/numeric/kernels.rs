//! Matrix products and element-wise loops: the only place tuned for speed.
//!
//! Loops run through [`vectorised`], which picks the widest instructions of the machine at run
//! time, so that a plain release build is fast everywhere. Products and sums are never fused in
//! the element-wise loops, so that their bits do not depend on the machine.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

use std::sync::LazyLock;

use super::real::Real;

static ARCH: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

/// The slope of LeakyReLU for negative arguments.
pub(crate) const LEAK: f64 = 0.01;

/// Runs `work` compiled for the widest instructions this machine has.
#[inline(always)]
pub fn vectorised<Output>(work: impl FnOnce() -> Output) -> Output {
    ARCH.dispatch(work)
}

/// A matrix inside a slice, with any strides.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, R> {
    data: &'a [R],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, R> View<'a, R> {
    /// `rows` x `cols`, row-major, at the start of `data`.
    #[inline]
    pub fn new(data: &'a [R], rows: usize, cols: usize) -> Self {
        Self::strided(data, [rows, cols], cols)
    }

    /// `rows` x `cols` whose rows start `row_stride` apart.
    #[inline]
    pub fn strided(data: &'a [R], [rows, cols]: [usize; 2], row_stride: usize) -> Self {
        Self { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// The transposed matrix, without moving anything.
    #[inline]
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// Number of entries of `data` that the matrix reaches.
    #[inline]
    fn reach(&self) -> usize {
        reach([self.rows, self.cols], [self.row_stride, self.col_stride])
    }
}

/// Entries of a slice up to the last of a matrix, whose strides are those of its rows and columns.
fn reach([rows, cols]: [usize; 2], [row_stride, col_stride]: [usize; 2]) -> usize {
    if rows == 0 || cols == 0 { 0 } else { (rows - 1) * row_stride + (cols - 1) * col_stride + 1 }
}

/// `out = a b`, row-major with rows `out_stride` apart.
#[inline]
pub fn product<R: Real>(out: &mut [R], out_stride: usize, a: View<'_, R>, b: View<'_, R>) {
    gemm(out, out_stride, false, a, b);
}

/// `out += a b`, row-major with rows `out_stride` apart.
#[inline]
pub fn add_product<R: Real>(out: &mut [R], out_stride: usize, a: View<'_, R>, b: View<'_, R>) {
    gemm(out, out_stride, true, a, b);
}

#[expect(unsafe_code, reason = "the matrix product takes pointers; the bounds are checked here")]
fn gemm<R: Real>(
    out: &mut [R],
    out_stride: usize,
    accumulate: bool,
    a: View<'_, R>,
    b: View<'_, R>,
) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if m == 0 || n == 0 || (k == 0 && accumulate) {
        return;
    }
    assert_eq!(k, b.rows, "inner sizes of a product agree");
    assert!(a.data.len() >= a.reach(), "the left factor lies inside its slice");
    assert!(b.data.len() >= b.reach(), "the right factor lies inside its slice");
    assert!(out_stride >= n, "rows of a product do not overlap");
    assert!(out.len() >= reach([m, n], [out_stride, 1]), "the product fits into its slice");
    // SAFETY: the three matrices lie inside their slices, as asserted, and `out` is borrowed
    // mutably, so it cannot overlap the factors.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            out_stride as isize,
            accumulate,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            R::ONE,
            R::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// max(x, 0) + 0.01 min(x, 0).
#[inline(always)]
pub fn leaky<R: Real>(x: R) -> R {
    x.larger(R::from_f64(LEAK) * x)
}

/// The derivative of [`leaky`], given whether its argument was positive.
#[inline(always)]
pub fn leaky_slope<R: Real>(positive: bool) -> R {
    if positive { R::ONE } else { R::from_f64(LEAK) }
}

/// `out += x`.
#[inline(always)]
pub(crate) fn add_into<R: Real>(out: &mut [R], x: &[R]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out += x;
    }
}

/// `out += factor x`.
#[inline(always)]
pub(crate) fn add_scaled<R: Real>(out: &mut [R], factor: R, x: &[R]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out += factor * x;
    }
}

/// The sum of products, in eight interleaved partial sums so that it vectorises.
#[inline(always)]
pub fn dot<R: Real>(x: &[R], y: &[R]) -> R {
    const LANES: usize = 8;
    let mut sums = [R::ZERO; LANES];
    let (x_blocks, y_blocks) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let mut rest = R::ZERO;
    for (&x, &y) in x_blocks.remainder().iter().zip(y_blocks.remainder()) {
        rest += x * y;
    }
    for (x, y) in x_blocks.zip(y_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    for sum in sums {
        rest += sum;
    }
    rest
}

/// `sums[col] += ` the sum over rows of `matrix[row, col]`.
pub(crate) fn add_column_sums<R: Real>(sums: &mut [R], matrix: &[R]) {
    vectorised(
        #[inline(always)]
        || {
            for row in matrix.chunks_exact(sums.len()) {
                add_into(sums, row);
            }
        },
    );
}

/// Repeats `bias` in every row of `out`.
pub(crate) fn fill_rows<R: Real>(out: &mut [R], bias: &[R]) {
    for row in out.chunks_exact_mut(bias.len()) {
        row.copy_from_slice(bias);
    }
}

/// `x = softplus(x)` and `slope = sigmoid(x)`, its derivative.
pub fn softplus_with_slope<R: Real>(x: &mut [R], slope: &mut [R]) {
    vectorised(
        #[inline(always)]
        || {
            for (x, slope) in x.iter_mut().zip(slope) {
                let small = (-x.abs()).exp();
                let share = R::ONE / (R::ONE + small);
                *slope = if *x < R::ZERO { small * share } else { share };
                *x = x.larger(R::ZERO) + small.ln_1p_unit();
            }
        },
    );
}

/// `out *= factor`, entry by entry.
pub fn multiply_into<R: Real>(out: &mut [R], factor: &[R]) {
    vectorised(
        #[inline(always)]
        || {
            for (out, &factor) in out.iter_mut().zip(factor) {
                *out *= factor;
            }
        },
    );
}

/// `out[col, row] = matrix[row, col]`.
pub fn transpose<R: Real>(out: &mut [R], matrix: &[R], rows: usize, cols: usize) {
    // Blocks of 8 x 8 keep both sides in the cache's lines.
    for row_block in (0..rows).step_by(8) {
        for col_block in (0..cols).step_by(8) {
            for row in row_block..(row_block + 8).min(rows) {
                for col in col_block..(col_block + 8).min(cols) {
                    out[col * rows + row] = matrix[row * cols + col];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_hand() {
        // [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50].
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut out = [1.0; 5];
        product(&mut out, 3, View::new(&a, 2, 2), View::new(&b, 2, 2));
        assert_eq!(out, [19.0, 22.0, 1.0, 43.0, 50.0]);
        // With the left factor transposed: [1 3; 2 4] [5 6; 7 8] = [26 30; 38 44].
        let mut sum = [1.0_f32; 4];
        let (a, b) = (a.map(|x| x as f32), b.map(|x| x as f32));
        add_product(&mut sum, 2, View::new(&a, 2, 2).t(), View::new(&b, 2, 2));
        assert_eq!(sum, [27.0, 31.0, 39.0, 45.0]);
    }

    #[test]
    #[should_panic(expected = "the left factor lies inside its slice")]
    fn a_factor_outside_its_slice_is_refused() {
        let mut out = [0.0; 4];
        product(&mut out, 2, View::new(&[0.0; 3], 2, 2), View::new(&[0.0; 4], 2, 2));
    }

    #[test]
    fn dot_covers_whole_blocks_and_the_rest() {
        let x: Vec<f64> = (1..=19).map(f64::from).collect();
        // Sum of squares 1..19 = 19 * 20 * 39 / 6.
        assert_eq!(dot(&x, &x), 2470.0);
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let matrix: Vec<f64> = (0..9 * 13).map(f64::from).collect();
        let (mut there, mut back) = (vec![0.0; matrix.len()], vec![0.0; matrix.len()]);
        transpose(&mut there, &matrix, 9, 13);
        assert_eq!(there[9 * 3 + 2], matrix[13 * 2 + 3]);
        transpose(&mut back, &there, 13, 9);
        assert_eq!(back, matrix);
    }
}
