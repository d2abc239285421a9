//! Bases and stated losses, against series in rationals of another library.

use congenial_exact_noise::{Base, Ratio};
use num_bigint::BigInt;
use num_rational::BigRational;

fn rational(ratio: &Ratio) -> BigRational {
    ratio.to_string().parse().unwrap()
}

fn power_of_two(k: i32) -> BigRational {
    BigRational::from_integer(2.into()).pow(k)
}

/// `e^x` from below and from above, by 250 terms; the rest is below twice the last term, since `x <= 40`.
fn exponential(x: &BigRational) -> (BigRational, BigRational) {
    // On a grid, or the fractions grow.
    let scale = BigInt::from(2).pow(400u32);
    let down = |y: &BigRational| (y.numer() * &scale / y.denom()).clone();
    let (x_low, x_high) = (down(x), down(x) + 1);
    let (mut low, mut high) = (scale.clone(), scale.clone());
    let (mut low_term, mut high_term) = (scale.clone(), scale.clone());
    for k in 1..=250 {
        low_term = low_term * &x_low / (&scale * k);
        high_term = high_term * &x_high / (&scale * k) + 1;
        low += &low_term;
        high += &high_term;
    }
    high += high_term * 2;
    (BigRational::new(low, scale.clone()), BigRational::new(high, scale))
}

fn losses() -> Vec<Ratio> {
    let mut texts: Vec<String> =
        ["0.5", "1", "1/3", "33", "33.2", "33.9999", "0.1", "0.0001", "1/7919", "2.718281828459045"]
            .map(String::from)
            .into();
    // 2^-47, a little above 2^-48, and a fraction of 64 bits.
    texts.extend(
        ["1/140737488355328", "1/281474976710000", "12345678901234567890/18446744073709551615"]
            .map(String::from),
    );
    let mut state = 7u64;
    for _ in 0..200 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        texts.push(format!("{}/{}", state >> 40, (state >> 20 & 0xff_ffff) + (1 << 19)));
    }
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// `m - 1 < 2^48 e^-x <= m`, and the loss is above `-ln q` by less than 2^-95.
#[test]
fn bases_and_losses_are_rounded_up_and_no_further() {
    for loss in losses() {
        let base = Base::from_loss(&loss).unwrap();
        let q = |m: u64| BigRational::from_integer(m.into()) / power_of_two(48);
        let (low, high) = exponential(&rational(&loss));
        let m = base.mantissa();
        // e^x >= 1/q, and e^x < 1/(q - 2^-48).
        assert!(high >= q(m).recip() && low >= q(m).recip(), "{loss}: {m} is too small");
        assert!(m == 1 || high < q(m - 1).recip(), "{loss}: {m} is too large");
        let stated = rational(&base.loss());
        assert!(exponential(&stated).0 >= q(m).recip(), "{loss}: states {stated}");
        assert!(exponential(&(&stated - power_of_two(-95))).1 < q(m).recip(), "{loss}: states too much");
        assert!(stated < rational(&loss) + power_of_two(-96), "{loss}: states more than was asked for");
    }
}

#[test]
fn bases_at_the_ends() {
    assert_eq!(Base::from_loss(&"34".parse().unwrap()).unwrap().mantissa(), 1);
    assert_eq!(Base::from_loss(&"1000000000".parse().unwrap()).unwrap().mantissa(), 1);
    // 48 ln 2 = 33.271064…
    assert_eq!(Base::from_mantissa(1).unwrap().loss().rounded_up(12), "33.271064666878");
    for refused in ["0", "0/5", "1/1000000000000000000", "0.000000000000001"] {
        let error = Base::from_loss(&refused.parse().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("want a loss of at least 2^-48 for a unit"), "{error}");
    }
    for refused in [0, 1 << 48, u64::MAX] {
        assert!(Base::from_mantissa(refused).is_err());
    }
}

#[test]
fn ratios_read_write_and_compare() {
    let ratio = |text: &str| text.parse::<Ratio>().unwrap();
    assert_eq!(ratio("0.25"), Ratio::new(1, 4).unwrap());
    assert!(ratio("1/3") > ratio("0.33333333333333333333333333333333333333333333333333"));
    assert_eq!(ratio("1/3").plus(&ratio("1/6")), ratio("0.5"));
    assert_eq!(ratio("0.3").times(3).per(9).unwrap(), ratio("1/10"));
    for (text, places, want) in [
        ("0", 2, "0.00"),
        ("1/3", 0, "1"),
        ("2/3", 3, "0.667"),
        ("12.5", 1, "12.5"),
        ("1/1000", 2, "0.01"),
        ("99.999", 2, "100.00"),
    ] {
        assert_eq!(ratio(text).rounded_up(places), want);
    }
    let long = "1".repeat(81);
    for refused in [
        "", ".", "1.", ".5", "-1", "+1", "1e3", "1_000", " 1", "1/", "/2", "1/0", "1/2/3", "1.5/2", "NaN",
        "٣", &long,
    ] {
        assert!(refused.parse::<Ratio>().is_err(), "{refused}");
    }
    assert!(Ratio::new(1, 0).is_err() && ratio("1").per(0).is_err());
}
