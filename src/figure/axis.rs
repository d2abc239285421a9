//! Where values lie on an axis, and where it has ticks.

use super::{Axis, Scale};

/// The part of a logarithmic axis that 0 has for itself, and where in it 0 stands.
const APART: (f64, f64) = (0.06, 0.025);

/// An axis with its range, from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    log: bool,
    low: f64,
    high: f64,
    /// Whether 0 stands apart, at the edge of a logarithmic axis.
    zero: bool,
}

impl Range {
    /// The range of these values, with a little room on both sides, as far as the axis does not say its ends. On a
    /// logarithmic axis 0 stands apart, if it is among them; values below 0 are left out.
    pub(super) fn of(axis: &Axis, values: impl Iterator<Item = f64> + Clone) -> Self {
        let log = axis.scale == Scale::Log;
        if let Scale::Names(names) = &axis.scale {
            return Self { log, low: names.len() as f64 - 0.5, high: -0.5, zero: false };
        }
        let zero = log && values.clone().any(|x| x == 0.0);
        let onto = |x: f64| if log { libm::log10(x) } else { x };
        let values = values.filter(|x| x.is_finite() && (!log || *x > 0.0)).map(onto);
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let room = if high > low {
            0.04 * (high - low)
        } else if log {
            0.5
        } else {
            0.5 * high.abs().max(1.0)
        };
        let end = |end: Option<f64>| end.filter(|x| x.is_finite() && (!log || *x > 0.0)).map(onto);
        let low = end(axis.ends.0).unwrap_or(low - room);
        let high = end(axis.ends.1).unwrap_or(high + room);
        let high = if high > low { high } else { low + 1.0 };
        Self { log, low, high, zero }
    }

    /// The values at the ends; none of an axis with names.
    pub(super) fn ends(&self) -> (Option<f64>, Option<f64>) {
        if self.low > self.high {
            return (None, None);
        }
        let from = |x: f64| if self.log { libm::pow(10.0, x) } else { x };
        (Some(from(self.low)), Some(from(self.high)))
    }

    /// The place of a value, within 0 and 1; `None` if it cannot be shown.
    pub(super) fn place(&self, x: f64) -> Option<f64> {
        if self.log && x == 0.0 && self.zero {
            return Some(APART.1);
        }
        if !x.is_finite() || self.log && x <= 0.0 {
            return None;
        }
        let begin = if self.zero { APART.0 } else { 0.0 };
        let x = if self.log { libm::log10(x) } else { x };
        let place = ((x - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        Some(begin + (1.0 - begin) * place)
    }

    /// Whether 0 stands apart.
    pub(super) fn has_zero(&self) -> bool {
        self.zero
    }

    /// The end of what 0 has for itself.
    pub(super) fn apart(&self) -> Option<f64> {
        self.zero.then_some(APART.0)
    }

    /// At most some `most` round values, and 0 where it stands apart.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let mut all: Vec<f64> = self.zero.then_some(0.0).into_iter().collect();
        all.extend(self.rounds(most.max(2)));
        all
    }

    fn rounds(&self, most: usize) -> Vec<f64> {
        let (low, high) = (self.low.min(self.high), self.low.max(self.high));
        let even = |low: f64, high: f64| {
            let ticks = |most: usize| -> Vec<f64> {
                // What rounding moves past an end is at it.
                let (step, hair) = (round_step((high - low) / (most - 1) as f64), 1e-9);
                let first = (low / step - hair).ceil() as i64;
                (first..).map(|k| k as f64 * step).take_while(|x| *x <= high + hair * step).collect()
            };
            // Two tell how long the axis is.
            (most..most + 8).map(ticks).find(|ticks| ticks.len() > 1).unwrap_or_else(|| ticks(most))
        };
        let decades = high - low;
        if !self.log {
            return even(low, high);
        }
        // So little of a logarithm is nearly straight.
        if decades < 0.7 {
            return even(libm::pow(10.0, low), libm::pow(10.0, high));
        }
        let every = ((decades / most.min(7) as f64).ceil() as i32).max(1);
        let factors: &[f64] = if decades < 1.5 && most > 4 {
            &[1.0, 2.0, 5.0]
        } else if decades < 3.0 && most > 4 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let powers = (low.floor() as i32..=high.ceil() as i32).filter(|power| power.rem_euclid(every) == 0);
        let all = powers
            .flat_map(|power| factors.iter().map(move |factor| factor * libm::pow(10.0, f64::from(power))));
        let all: Vec<f64> = all.filter(|x| (low - 1e-9..=high + 1e-9).contains(&libm::log10(*x))).collect();
        // A narrow axis between two powers of ten.
        if all.len() < 2 { even(libm::pow(10.0, low), libm::pow(10.0, high)) } else { all }
    }
}

/// The next of 1, 2, 5, 10, … from here.
fn round_step(x: f64) -> f64 {
    let power = libm::pow(10.0, libm::log10(x).floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= x * 0.999)
        .unwrap_or(10.0 * power)
}

/// A tick in a few letters.
pub(super) fn words(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if (1e-3..1e5).contains(&x.abs()) {
        let text = format!("{x:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let power = libm::log10(x.abs()).floor();
    let factor = x / libm::pow(10.0, power);
    format!("{}e{power}", words((factor * 1e3).round() / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, ends: (Option<f64>, Option<f64>)) -> Axis {
        Axis { ends, ..Axis::new("", scale) }
    }

    fn range(scale: Scale, values: &[f64]) -> Range {
        Range::of(&axis(scale, (None, None)), values.iter().copied())
    }

    #[test]
    fn ticks_are_round_and_within() {
        let ticks = |scale: Scale, values: &[f64]| range(scale, values).ticks(7);
        assert_eq!(ticks(Scale::Linear, &[0.0, 10.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(Scale::Log, &[1.0, 1e4]), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(ticks(Scale::Log, &[0.5, 2.0]), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(ticks(Scale::Log, &[0.47, 0.53]), [0.48, 0.5, 0.52]);
        assert!(ticks(Scale::Log, &[1e-30, 1e30]).len() <= 9);
        assert!(ticks(Scale::Log, &[]).len() > 1);
        assert_eq!([0.25, 1500.0, 2e-7, -3.0, 1e6].map(words), ["0.25", "1500", "2e-7", "-3", "1e6"]);
        // Fewer where there is less room, but two at least.
        for most in 2..8 {
            for values in [[0.5, 2.0], [1.0, 90.0], [2.0, 60.0], [1e-8, 1e4], [0.31, 0.33]] {
                let few = range(Scale::Log, &values).ticks(most).len();
                assert!((2..=3 * most.max(3)).contains(&few), "{values:?} {most}: {few}");
            }
        }
    }

    #[test]
    fn values_have_places() {
        let log = range(Scale::Log, &[1.0, 100.0]);
        assert!((log.place(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!([0.0, -1.0, f64::NAN].map(|x| log.place(x)), [None; 3]);
        let names = range(Scale::Names(vec!["a".into(), "b".into()]), &[]);
        assert_eq!([0.0, 1.0].map(|y| names.place(y).unwrap()), [0.75, 0.25]);
        assert_eq!(names.ends(), (None, None));
    }

    /// 0 stands apart from everything else on a logarithmic axis, and nowhere else.
    #[test]
    fn zero_has_its_place() {
        let log = range(Scale::Log, &[0.0, 1e-9, 1.0]);
        let [zero, least, one] = [0.0, 1e-9, 1.0].map(|x| log.place(x).unwrap());
        assert!(
            0.0 < zero
                && zero < log.apart().unwrap()
                && log.apart().unwrap() < least
                && least < one
                && one < 1.0
        );
        assert_eq!(log.ticks(7)[0], 0.0);
        assert!(range(Scale::Log, &[0.0]).place(0.0).is_some());
        let linear = range(Scale::Linear, &[0.0, 1.0]);
        assert_eq!((linear.has_zero(), linear.apart()), (false, None));
    }

    /// An axis ends where it says, and what is beyond is at its end.
    #[test]
    fn ends_are_those_that_are_said() {
        let tv = Range::of(&axis(Scale::Log, (None, Some(1.0))), [0.01, 7.0].into_iter());
        assert_eq!([1.0, 7.0].map(|x| tv.place(x).unwrap()), [1.0, 1.0]);
        assert_eq!(tv.ticks(7).last(), Some(&1.0));
        let (low, high) = tv.ends();
        let same = Range::of(&axis(Scale::Log, (low, high)), std::iter::empty());
        assert!((0..9).all(|k| {
            (same.place(0.1 * f64::from(k + 1)).unwrap() - tv.place(0.1 * f64::from(k + 1)).unwrap()).abs()
                < 1e-12
        }));
        // Ends that nothing can have are none.
        let none = Range::of(&axis(Scale::Log, (Some(-1.0), Some(f64::NAN))), [1.0, 100.0].into_iter());
        assert_eq!(none, range(Scale::Log, &[1.0, 100.0]));
    }
}
