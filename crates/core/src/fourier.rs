//! The discrete Fourier transform, as far as grouped sums and autocovariances need it.
//!
//! Written here, with `libm`, so that results do not depend on the processor.

/// Complex numbers as (real, imaginary).
type Complex = (f64, f64);

/// Transforms `values` in place along one axis of a cube: `side` values at distance `stride`, for every start.
/// `side` is a power of two.
fn axis(values: &mut [Complex], side: usize, stride: usize, roots: &[Complex]) {
    let mut line = vec![(0.0, 0.0); side];
    let bits = side.trailing_zeros();
    for block in (0..values.len()).step_by(side * stride) {
        for start in block..block + stride {
            for (k, out) in line.iter_mut().enumerate() {
                let from = if bits == 0 { 0 } else { k.reverse_bits() >> (usize::BITS - bits) };
                *out = values[start + from * stride];
            }
            let mut half = 1;
            while half < side {
                let step = side / (2 * half);
                for pair in line.chunks_exact_mut(2 * half) {
                    let (low, high) = pair.split_at_mut(half);
                    for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                        let w = roots[k * step];
                        let t = (b.0 * w.0 - b.1 * w.1, b.0 * w.1 + b.1 * w.0);
                        *b = (a.0 - t.0, a.1 - t.1);
                        *a = (a.0 + t.0, a.1 + t.1);
                    }
                }
                half *= 2;
            }
            for (k, value) in line.iter().enumerate() {
                values[start + k * stride] = *value;
            }
        }
    }
}

fn roots(side: usize) -> Vec<Complex> {
    let angle = |k: usize| -2.0 * std::f64::consts::PI * k as f64 / side as f64;
    (0..side / 2).map(|k| (libm::cos(angle(k)), libm::sin(angle(k)))).collect()
}

/// `Σ_i x_i x_(i+lag)` by lag, from 0 to the length less 1.
pub(crate) fn autocorrelations(x: &[f64]) -> Vec<f64> {
    // As many zeros as values, so that nothing wraps around.
    let side = (2 * x.len()).next_power_of_two();
    let roots = roots(side);
    let mut values: Vec<Complex> = x.iter().map(|&x| (x, 0.0)).collect();
    values.resize(side, (0.0, 0.0));
    axis(&mut values, side, 1, &roots);
    // The power spectrum of reals is real and even: transformed again it gives back the sums.
    values.iter_mut().for_each(|value| *value = (value.0 * value.0 + value.1 * value.1, 0.0));
    axis(&mut values, side, 1, &roots);
    values[..x.len()].iter().map(|value| value.0 / side as f64).collect()
}

/// Transforms of one side, with room for them.
pub(crate) struct Transform {
    roots: Vec<Complex>,
    side: usize,
}

impl Transform {
    /// `side`: a power of two.
    pub(crate) fn new(side: usize) -> Self {
        Self { roots: roots(side), side }
    }

    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// The transform of `weights · f` over the side, f the function whose transform `spectrum` is. Both are real: `f(-s)` is
    /// the conjugate of `f(s)`, and weights are even.
    pub(crate) fn weigh(&self, spectrum: &mut [f64], weights: &[f64]) {
        let mut values: Vec<Complex> = spectrum.iter().map(|&value| (value, 0.0)).collect();
        axis(&mut values, self.side, 1, &self.roots);
        // The conjugate goes back by the same transform.
        values
            .iter_mut()
            .zip(weights)
            .for_each(|(value, weight)| *value = (value.0 * weight, -value.1 * weight));
        axis(&mut values, self.side, 1, &self.roots);
        spectrum.iter_mut().zip(values).for_each(|(out, value)| *out = value.0);
    }
}

/// The transform `Σ_x f(x) exp(-2πi <x, ω>/side)` of a function on `(Z/side)^dimensions` that is real and even,
/// `f(-x) = f(x)`: real and even again. Applied twice it gives `side^dimensions f`.
pub(crate) fn even_transform(f: &[f64], side: usize, dimensions: usize) -> Vec<f64> {
    transform(f, side, dimensions).into_iter().map(|(re, _)| re).collect()
}

/// The transform of [`even_transform`] of any real function: real and imaginary parts.
pub(crate) fn transform(f: &[f64], side: usize, dimensions: usize) -> Vec<(f64, f64)> {
    let roots = roots(side);
    let mut values: Vec<Complex> = f.iter().map(|&x| (x, 0.0)).collect();
    for dimension in 0..dimensions {
        axis(&mut values, side, side.pow(dimension as u32), &roots);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autocorrelations_are_the_sums() {
        let x: Vec<f64> = (0..37).map(|i| f64::from(i * i % 11) - 4.5).collect();
        for (lag, got) in autocorrelations(&x).into_iter().enumerate() {
            let want: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum();
            assert!((got - want).abs() < 1e-11, "{lag}: {got} {want}");
        }
    }

    /// Against the sum of the definition, in two dimensions.
    #[test]
    fn transform_is_the_sum() {
        let side = 8;
        let distance = |x: usize| x.min(side - x) as f64;
        let f: Vec<f64> =
            (0..64).map(|i| libm::exp(-distance(i % 8) - 0.3 * distance(i / 8) * distance(i / 8))).collect();
        let got = even_transform(&f, side, 2);
        for (w, got) in got.iter().enumerate() {
            let want: f64 = (0..64)
                .map(|x| {
                    let phase = (w % 8) * (x % 8) + (w / 8) * (x / 8);
                    f[x] * libm::cos(2.0 * std::f64::consts::PI * phase as f64 / 8.0)
                })
                .sum();
            assert!((got - want).abs() < 1e-13, "{w}: {got} {want}");
        }
        let back = even_transform(&got, side, 2);
        assert!(back.iter().zip(&f).all(|(a, b)| (a / 64.0 - b).abs() < 1e-15));
    }
}
