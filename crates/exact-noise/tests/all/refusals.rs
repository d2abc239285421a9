//! What is refused, and what a failing source ends.

use crate::oracle::dyadic;
use crate::statistics::Seeded;
use congenial_exact_noise::{
    Base, Bits, Error, Free, Law, Precision, Result, System, Tree, ZeroSum, add, free, partition,
};

/// Fails from some call on.
struct Failing {
    source: Seeded,
    left: u32,
}

impl Bits for Failing {
    fn bits(&mut self, count: u32) -> Result<u32> {
        self.left = self.left.checked_sub(1).ok_or(Error::Source("no more".into()))?;
        self.source.bits(count)
    }
}

fn law() -> Law {
    Law::DoubleGeometric(dyadic(7, 3))
}

/// Whatever call fails, the draw is that error, and no noise.
#[test]
fn a_source_that_fails_ends_the_draw() {
    let gaussian = Law::DiscreteGaussian(dyadic(7, 3));
    let parents = [None, Some(0), Some(0), Some(1), Some(1)];
    let laws = [Some(law()), Some(gaussian), Some(law())];
    type Draw<'a> = &'a dyn Fn(&mut Failing) -> Result<Vec<i64>>;
    let draws: [Draw; 5] = [
        &|source| free(law(), 3, source),
        &|source| free(gaussian, 3, source),
        &|source| partition(law(), &[3, 1, 5], source),
        &|source| partition(gaussian, &[4], source),
        &|source| Tree::new(&parents, &[false; 5], &laws)?.draw(source),
    ];
    for draw in draws {
        let mut failed = 0;
        loop {
            let mut source = Failing { source: Seeded(3), left: failed };
            match draw(&mut source) {
                Ok(_) => break,
                Err(error) => assert_eq!(error, Error::Source("no more".into())),
            }
            failed += 1;
        }
        assert!(failed > 3, "{failed}");
    }
}

#[test]
fn refusals_name_what_is_wanted() {
    let one = |parents: &[Option<usize>], known: &[bool], laws: &[Option<Law>]| {
        Tree::new(parents, known, laws).map(|_| ()).unwrap_err().to_string()
    };
    let l = Some(law());
    assert_eq!(one(&[None], &[], &[l]), "marks of known nodes: got 0, want one for each node");
    assert_eq!(one(&[Some(0)], &[false], &[l]), "parent: got 0, want a node that stands before its child");
    assert_eq!(
        one(&[None, Some(7)], &[false; 2], &[l, l]),
        "parent: got 7, want a node that stands before its child"
    );
    assert_eq!(one(&[None, Some(0)], &[false; 2], &[l]), "number of laws: got 1, want one for each level");
    assert_eq!(
        one(&[None], &[false], &[None]),
        "law of the level of open node: got 0, want one, or a known node"
    );
    let wide = Law::DoubleGeometric(Base::from_loss(&"1/10000".parse().unwrap()).unwrap());
    let want = "values on each side of 0 in a table of sums: 65537, at most 65536";
    assert_eq!(one(&[None], &[false], &[Some(wide)]), want);
    let wide_gaussian = Law::DiscreteGaussian(Base::from_mantissa((1 << 48) - 1).unwrap());
    assert_eq!(ZeroSum::new(wide_gaussian, 5).unwrap_err().to_string(), want);
    let widest = Law::DoubleGeometric(Base::from_mantissa((1 << 48) - 1).unwrap());
    for n in [2, 1_000_000, 1 << 32, usize::MAX] {
        assert!(matches!(ZeroSum::new(widest, n), Err(Error::TooLarge { .. })), "{n}");
    }
    assert!(Precision::new(0, 8).is_err() && Precision::new(33, 8).is_err());
    assert!(Precision::new(1, 1).is_err() && Precision::new(1, 63).is_err());
}

/// The widest and the narrowest base draw.
#[test]
fn bases_at_the_ends_draw() {
    let mut source = System::new();
    for mantissa in [1, 2, (1 << 48) - 1] {
        let base = Base::from_mantissa(mantissa).unwrap();
        for law in [Law::DoubleGeometric(base), Law::DiscreteGaussian(base)] {
            let most = free(law, 2000, &mut source).unwrap().into_iter().map(i64::unsigned_abs).max();
            // 2^48 and 2^24 are the scales of the widest; of the narrowest all are 0.
            let (least, limit) = match (mantissa, law) {
                (1 | 2, _) => (0, 0),
                (_, Law::DoubleGeometric(_)) => (1 << 49, 1 << 54),
                (_, Law::DiscreteGaussian(_)) => (1 << 24, 1 << 28),
            };
            assert!(most >= Some(least) && most <= Some(limit), "{law:?}: {most:?}");
        }
    }
}

#[test]
fn counts_are_added_or_refused_without_their_value() {
    assert_eq!(add(&[1, -5], &[2, 7]), Ok(vec![3, 2]));
    assert_eq!(add(&[1 << 53, -(1 << 53)], &[1 << 61, -(1 << 61)]).map(|sums| sums.len()), Ok(2));
    assert!(add(&[1], &[]).is_err());
    for count in [(1 << 53) + 1, i64::MIN, i64::MAX] {
        let error = add(&[0, count], &[0, 0]).unwrap_err().to_string();
        assert_eq!(error, "a count: got more, want at most 2^53");
    }
}

/// Trees at random: noise keeps every sum, and is 0 where counts are known.
#[test]
fn any_tree_keeps_its_sums() {
    let mut source = Seeded(11);
    for case in 0..300u32 {
        let n = 1 + source.below(30) as usize;
        let mut parents: Vec<Option<usize>> = vec![None];
        for v in 1..n {
            parents.push((source.below(8) > 0).then(|| source.below(v as u32) as usize));
        }
        let mut levels = Vec::new();
        for parent in &parents {
            levels.push(parent.map_or(0, |parent: usize| levels[parent] + 1));
        }
        let laws: Vec<Option<Law>> = (0..=*levels.iter().max().unwrap())
            .map(|_| {
                let base = dyadic(1 + u64::from(source.below(15)), 4);
                Some(if source.below(2) == 0 {
                    Law::DoubleGeometric(base)
                } else {
                    Law::DiscreteGaussian(base)
                })
            })
            .collect();
        let known: Vec<bool> = (0..n).map(|_| source.below(4) == 0).collect();
        // Few bits in some, so that what is behind the tables is drawn, too.
        let rows = if case % 10 == 0 { 12 } else { 62 };
        let mut tree =
            Tree::with_precision(&parents, &known, &laws, Precision::new(32, rows).unwrap()).unwrap();
        for _ in 0..3 {
            let noise = tree.draw(&mut source).unwrap();
            for v in 0..n {
                let below: Vec<i64> = (0..n).filter(|c| parents[*c] == Some(v)).map(|c| noise[c]).collect();
                assert!(below.is_empty() || below.iter().sum::<i64>() == noise[v]);
                assert!(!known[v] || noise[v] == 0);
            }
        }
    }
}

/// A chain of counts is no deeper than the stack, and groups of none and one are 0.
#[test]
fn long_chains_and_small_groups() {
    let n = 20_000;
    let parents: Vec<Option<usize>> = (0..n).map(|v: usize| v.checked_sub(1)).collect();
    let mut known = vec![false; n];
    let laws: Vec<Option<Law>> = vec![Some(Law::DoubleGeometric(dyadic(1, 40))); n];
    let noise = Tree::new(&parents, &known, &laws).unwrap().draw(&mut Seeded(1)).unwrap();
    assert!(noise.iter().all(|z| *z == noise[0]));
    known[n - 1] = true;
    let noise = Tree::new(&parents, &known, &laws).unwrap().draw(&mut Seeded(1)).unwrap();
    assert!(noise.iter().all(|z| *z == 0));
    for law in [law(), Law::DiscreteGaussian(dyadic(1, 2))] {
        assert_eq!(partition(law, &[0, 1, 0, 1], &mut Seeded(1)), Ok(vec![0, 0]));
        assert_eq!(Free::new(law).unwrap().draw(&mut Failing { source: Seeded(1), left: 0 }).ok(), None);
    }
    assert_eq!(Tree::new(&[], &[], &[]).unwrap().draw(&mut Seeded(1)), Ok(vec![]));
}
