//! How many tables and databases an invariant leaves, for every example of Gong and Meng (2020): their section 5.4 asks how the public
//! information parts from what remains in the data.
//!
//! A database has `n` people, each in one entry; its table counts them. An invariant parts all databases into sets with the same public
//! information, and with all databases equally probable `log2` of their number is a sum: what the invariant tells, `log2(all / left)`, and
//! what remains, `log2(left)`. No conditional independence is needed.
//!
//! Everything is counted in whole numbers, twice: from binomials, and by adding person after person to databases, entry after entry to
//! tables.

use super::draw::Settings;
use super::finding::{Claim, Finding, Operator, Property, Tally};
use congenial_core::rng::{Rng, below};
use dashu_int::UBig;

/// Numbers of something counted in two ways.
struct Twice {
    /// From binomials.
    binomials: UBig,
    /// Step by step.
    steps: UBig,
}

impl Twice {
    fn differ(&self) -> bool {
        self.binomials != self.steps
    }
}

/// What an invariant leaves.
struct Left {
    databases: Twice,
    tables: Twice,
    /// Without the invariant.
    all_databases: UBig,
    all_tables: UBig,
}

/// `C(n, k)`.
fn choose(n: usize, k: usize) -> UBig {
    // Every product of i + 1 successive numbers is a multiple of (i + 1)!.
    (0..k.min(n.saturating_sub(k)))
        .fold(UBig::from(usize::from(k <= n)), |product, i| product * (n - i) / (i + 1))
}

/// Tables of `entries` counts with a sum of `n`: `C(n + entries - 1, entries - 1)`.
fn tables(n: usize, entries: usize) -> UBig {
    choose(n + entries - 1, entries - 1)
}

/// Two bins: `n` people of whom `least..=most` are in the second. By binomials, and person by person; tables one by one.
fn two_bins(n: usize, least: usize, most: usize) -> Left {
    let mut by_second = vec![UBig::ZERO; n + 1];
    by_second[0] = UBig::ONE;
    for _ in 0..n {
        for k in (1..=n).rev() {
            let before = by_second[k - 1].clone();
            by_second[k] += before;
        }
    }
    Left {
        databases: Twice {
            binomials: (least..=most).map(|k| choose(n, k)).sum(),
            steps: by_second[least..=most].iter().sum(),
        },
        tables: Twice {
            binomials: UBig::from(most - least + 1),
            steps: UBig::from((0..=n).filter(|k| (least..=most).contains(k)).count()),
        },
        all_databases: UBig::ONE << n,
        all_tables: tables(n, 2),
    }
}

/// Two sexes by some ages: of `n` people so many are female, and so many below voting age, which is so many of the ages.
#[derive(Clone, Copy)]
struct SexByAge {
    n: usize,
    female: usize,
    young: usize,
    ages: usize,
    young_ages: usize,
}

/// Table 1.
const TABLE_1: SexByAge = SexByAge { n: 256, female: 130, young: 43, ages: 23, young_ages: 4 };

impl SexByAge {
    /// How many of the young can be female.
    fn young_females(self) -> impl Iterator<Item = usize> {
        let male = self.n - self.female;
        (self.young.saturating_sub(male)..=self.young.min(self.female))
            .filter(move |&k| male + k >= self.young)
    }

    /// `sum_k C(130, k) C(126, 43 - k)` with the choice of the females and of everybody's age.
    fn databases(self) -> UBig {
        let Self { n, female, young, ages, young_ages } = self;
        let ways: UBig =
            self.young_females().map(|k| choose(female, k) * choose(n - female, young - k)).sum();
        choose(n, female)
            * ways
            * UBig::from(young_ages).pow(young)
            * UBig::from(ages - young_ages).pow(n - young)
    }

    /// `sum_k` over the young females of the tables of the four groups.
    fn tables(self) -> UBig {
        let Self { n, female, young, ages, young_ages } = self;
        let old_ages = ages - young_ages;
        let of = |k: usize| {
            let females = tables(k, young_ages) * tables(female - k, old_ages);
            females * tables(young - k, young_ages) * tables(n - female + k - young, old_ages)
        };
        self.young_females().map(of).sum()
    }

    /// Person by person: everybody chooses one of the entries; by how many females and young there are so far.
    fn databases_by_person(self) -> UBig {
        let Self { n, female, young, ages, young_ages } = self;
        let (young_ages, old_ages) = (UBig::from(young_ages), UBig::from(ages - young_ages));
        let mut ways = vec![vec![UBig::ZERO; young + 1]; female + 1];
        ways[0][0] = UBig::ONE;
        for _ in 0..n {
            for f in (0..=female).rev() {
                for v in (0..=young).rev() {
                    // Neither, one of both, or both.
                    let mut sum = &ways[f][v] * &old_ages;
                    if v > 0 {
                        sum += &ways[f][v - 1] * &young_ages;
                    }
                    if f > 0 {
                        sum += &ways[f - 1][v] * &old_ages;
                    }
                    if f > 0 && v > 0 {
                        sum += &ways[f - 1][v - 1] * &young_ages;
                    }
                    ways[f][v] = sum;
                }
            }
        }
        ways[female][young].clone()
    }

    /// Entry by entry: the females first, then the males, by how many people and how many young there are so far.
    fn tables_by_entry(self) -> UBig {
        let Self { n, female, young, ages, young_ages } = self;
        let mut start = vec![UBig::ZERO; young + 1];
        start[0] = UBig::ONE;
        for people in [female, n - female] {
            let mut ways = vec![vec![UBig::ZERO; young + 1]; people + 1];
            ways[0] = start;
            for age in 0..ages {
                for f in 1..=people {
                    for v in 0..=young {
                        // One more in this entry than in a table that is counted already.
                        let before = match age < young_ages {
                            true if v == 0 => continue,
                            true => ways[f - 1][v - 1].clone(),
                            false => ways[f - 1][v].clone(),
                        };
                        ways[f][v] += before;
                    }
                }
            }
            start = ways.swap_remove(people);
        }
        start[young].clone()
    }

    fn left(self) -> Left {
        Left {
            databases: Twice { binomials: self.databases(), steps: self.databases_by_person() },
            tables: Twice { binomials: self.tables(), steps: self.tables_by_entry() },
            all_databases: UBig::from(2 * self.ages).pow(self.n),
            all_tables: tables(self.n, 2 * self.ages),
        }
    }

    /// How many of some databases that are drawn satisfy the invariant.
    fn drawn(self, databases: u64, rng: &mut dyn Rng) -> u64 {
        let mut met = 0;
        for _ in 0..databases {
            let (mut female, mut young) = (0, 0);
            for _ in 0..self.n {
                let entry = below(rng, 2 * self.ages as u64) as usize;
                female += usize::from(entry < self.ages);
                young += usize::from(entry % self.ages < self.young_ages);
            }
            met += u64::from((female, young) == (self.female, self.young));
        }
        met
    }
}

/// `log10` of a number > 0, to 14 digits.
fn log10(x: &UBig) -> f64 {
    let digits = x.to_string();
    let first = digits.len().min(17);
    libm::log10(digits[..first].parse().unwrap_or(f64::NAN)) + (digits.len() - first) as f64
}

/// A number as it is up to six digits, else rounded to three.
fn words(x: &UBig) -> String {
    let digits = x.to_string();
    if digits.len() <= 6 {
        return digits;
    }
    let log = log10(x);
    let power = log.floor();
    format!("{:.2}e{power}", libm::pow(10.0, log - power))
}

fn bits(x: &UBig) -> f64 {
    log10(x) / std::f64::consts::LOG10_2
}

/// The finding of an example; the deviation is 0 if both ways agree.
fn finding(statement: &'static str, left: &Left, more: &str) -> Finding {
    let mut tally = Tally::new();
    for counted in [&left.databases, &left.tables] {
        tally.see(if counted.differ() { f64::INFINITY } else { 0.0 }, String::new);
    }
    let (all, some) = (bits(&left.all_databases), bits(&left.databases.binomials));
    let claim =
        Claim { statement, operator: Operator::Conditioning, property: Property::Counting, claim: true };
    let mut finding = tally.finding(claim, 0.0, "");
    finding.evidence = format!(
        "{} of {} tables and {} of {} databases remain; of {all:.2} bits the invariant tells {:.2}, {some:.2} remain{more}",
        words(&left.tables.binomials),
        words(&left.all_tables),
        words(&left.databases.binomials),
        words(&left.all_databases),
        all - some
    );
    finding
}

/// Example 5.1: no restriction, 100 people with a yes or a no.
pub(super) fn trivial() -> Finding {
    finding("Gong and Meng, section 5.4: what remains in Example 5.1, 100 people", &two_bins(100, 0, 100), "")
}

/// Example 4.1: the total of the two bins is the number of people. All of their databases have it.
pub(super) fn total() -> Finding {
    let statement = "Gong and Meng, section 5.4: what remains in Example 4.1, two bins, 100 people";
    finding(statement, &two_bins(100, 0, 100), ": a total tells nothing of a database whose size is known")
}

/// Example 5.2: between 41 and 50 people say yes, so that the query is 5.
pub(super) fn rounding() -> Finding {
    let statement = "Gong and Meng, section 5.4: what remains in Example 5.2, 100 people";
    finding(statement, &two_bins(100, 41, 50), ": the query itself has one value of 11")
}

/// Table 1: 2 x 23 entries with 256 people, 130 females and 43 below voting age. As many databases as there are cases of a statement are
/// drawn, and the share of those that satisfy the invariant stands beside the one that is counted.
pub(super) fn sex_by_age(settings: &Settings, rng: &mut dyn Rng) -> Finding {
    let left = TABLE_1.left();
    let (met, n) = (TABLE_1.drawn(settings.cases, rng) as f64, settings.cases as f64);
    let share = met / n;
    let counted = libm::pow(10.0, log10(&left.databases.binomials) - log10(&left.all_databases));
    let more = format!(
        "; a random database satisfies it with probability {counted:.6}, of {n} drawn {share:.6} ± {:.6} did",
        libm::sqrt(counted * (1.0 - counted) / n)
    );
    finding("Gong and Meng, section 5.4: what remains in Table 1, 256 people in 46 entries", &left, &more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_stream;

    /// All databases of few people, one by one: their tables and those that satisfy the invariant.
    #[test]
    fn both_ways_are_those_of_a_list() {
        for small in [
            SexByAge { n: 5, female: 2, young: 3, ages: 3, young_ages: 1 },
            SexByAge { n: 6, female: 5, young: 2, ages: 2, young_ages: 1 },
            SexByAge { n: 4, female: 0, young: 4, ages: 3, young_ages: 2 },
        ] {
            let entries = 2 * small.ages;
            let (mut databases, mut seen) = (0u64, std::collections::HashSet::new());
            for code in 0..entries.pow(small.n as u32) {
                let mut table = vec![0; entries];
                let mut rest = code;
                for _ in 0..small.n {
                    table[rest % entries] += 1;
                    rest /= entries;
                }
                let female: usize = table[..small.ages].iter().sum();
                let is_young = |entry: &usize| entry % small.ages < small.young_ages;
                let young: usize = (0..entries).filter(is_young).map(|entry| table[entry]).sum();
                if (female, young) == (small.female, small.young) {
                    databases += 1;
                    seen.insert(table);
                }
            }
            let left = small.left();
            for (counted, want) in [(&left.databases, databases), (&left.tables, seen.len() as u64)] {
                assert_eq!((&counted.binomials, &counted.steps), (&want.into(), &want.into()));
            }
        }
    }

    /// The invariants of all kinds part all databases.
    #[test]
    fn what_the_invariants_leave_adds_up_to_all() {
        let of = |female, young| SexByAge { n: 7, female, young, ages: 5, young_ages: 2 };
        let all = (0..=7).flat_map(|female| (0..=7).map(move |young| of(female, young)));
        let databases: UBig = all.clone().map(SexByAge::databases).sum();
        let counted: UBig = all.map(SexByAge::tables).sum();
        assert_eq!((databases, counted), (UBig::from(10u32).pow(7), tables(7, 10)));
    }

    #[test]
    fn numbers_by_hand() {
        let rounded = two_bins(100, 41, 50);
        assert!(!rounded.databases.differ() && !rounded.tables.differ());
        // P(41 <= Binomial(100, 1/2) <= 50) = 0.511350...
        let share = libm::pow(10.0, log10(&rounded.databases.binomials) - 100.0 * std::f64::consts::LOG10_2);
        assert!((share - 0.511_350).abs() < 2e-4, "{share}");
        assert_eq!(
            (words(&UBig::from(123_456u32)), words(&UBig::from(1_234_567u32))),
            ("123456".into(), "1.23e6".into())
        );
        assert_eq!((choose(5, 2), choose(3, 4), choose(7, 7)), (10u32.into(), 0u32.into(), 1u32.into()));
    }

    /// Drawn databases satisfy the invariant as often as is counted: 4.9 standard deviations are exceeded once in 10^6.
    #[test]
    fn drawn_databases_are_as_those_that_are_counted() {
        let small = SexByAge { n: 12, female: 6, young: 2, ages: 5, young_ages: 1 };
        let p = libm::pow(10.0, log10(&small.databases()) - 12.0);
        let n = 20_000.0;
        let share = small.drawn(20_000, &mut test_stream(11)) as f64 / n;
        assert!((share - p).abs() < 4.9 * libm::sqrt(p * (1.0 - p) / n), "{share} {p}");
    }
}
