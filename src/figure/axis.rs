//! Where values lie on an axis, and where it has ticks.

use super::Scale;

/// An axis with its range, from 0 to 1.
pub(super) struct Range {
    log: bool,
    low: f64,
    high: f64,
}

impl Range {
    /// The range of these values, with a little room on both sides. Values that the scale cannot show are left out.
    pub(super) fn of(scale: &Scale, values: impl Iterator<Item = f64>) -> Self {
        let log = *scale == Scale::Log;
        if let Scale::Names(names) = scale {
            return Self { log, low: names.len() as f64 - 0.5, high: -0.5 };
        }
        let values = values.filter(|x| x.is_finite() && (!log || *x > 0.0));
        let values = values.map(|x| if log { libm::log10(x) } else { x });
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Self { log, low: 0.0, high: 1.0 };
        }
        let room = if high > low {
            0.04 * (high - low)
        } else if log {
            0.5
        } else {
            0.5 * high.abs().max(1.0)
        };
        Self { log, low: low - room, high: high + room }
    }

    /// The place of a value; `None` if it cannot be shown.
    pub(super) fn place(&self, x: f64) -> Option<f64> {
        let x = if self.log { if x > 0.0 { libm::log10(x) } else { return None } } else { x };
        x.is_finite().then(|| (x - self.low) / (self.high - self.low))
    }

    /// Some seven round values.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let (low, high) = (self.low.min(self.high), self.low.max(self.high));
        let even = |low: f64, high: f64| {
            let step = round_step((high - low) / 5.0);
            let first = (low / step).ceil() as i64;
            (first..).map(|k| k as f64 * step).take_while(|x| *x <= high).collect()
        };
        let decades = high - low;
        if !self.log {
            return even(low, high);
        }
        // So little of a logarithm is nearly straight.
        if decades < 0.7 {
            return even(libm::pow(10.0, low), libm::pow(10.0, high));
        }
        let every = ((decades / 7.0).ceil() as i32).max(1);
        let factors: &[f64] = if decades < 1.5 {
            &[1.0, 2.0, 5.0]
        } else if decades < 3.0 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let powers = (low.floor() as i32..=high.ceil() as i32).filter(|power| power.rem_euclid(every) == 0);
        let all = powers
            .flat_map(|power| factors.iter().map(move |factor| factor * libm::pow(10.0, f64::from(power))));
        all.filter(|x| (low..=high).contains(&libm::log10(*x))).collect()
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

    #[test]
    fn ticks_are_round_and_within() {
        let ticks = |scale: Scale, values: &[f64]| Range::of(&scale, values.iter().copied()).ticks();
        assert_eq!(ticks(Scale::Linear, &[0.0, 10.0]), [0.0, 5.0, 10.0][..].to_vec());
        assert_eq!(ticks(Scale::Log, &[1.0, 1e4]), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(ticks(Scale::Log, &[0.5, 2.0]), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(ticks(Scale::Log, &[0.47, 0.53]), [0.48, 0.5, 0.52]);
        assert!(ticks(Scale::Log, &[1e-30, 1e30]).len() <= 9);
        assert!(ticks(Scale::Log, &[]).len() > 1);
        assert_eq!([0.25, 1500.0, 2e-7, -3.0, 1e6].map(words), ["0.25", "1500", "2e-7", "-3", "1e6"]);
    }

    #[test]
    fn values_have_places() {
        let range = Range::of(&Scale::Log, [1.0, 100.0].into_iter());
        assert!((range.place(10.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(range.place(0.0), None);
        let names = Range::of(&Scale::Names(vec!["a".into(), "b".into()]), std::iter::empty());
        assert_eq!([0.0, 1.0].map(|y| names.place(y).unwrap()), [0.75, 0.25]);
    }
}
