//! Trees in pieces: what is drawn piece by piece, from streams of their own, has the law of what is drawn at once.
#![allow(clippy::disallowed_methods)] // An oracle need not agree to the last bit.

use crate::common::*;
use congenial_core::Alone;
use congenial_core::exact::{DownwardSampler, GaussianTree, IntegerTree};
use congenial_core::imaging::{
    BlueDown, BlueDownScratch, L2, TopDown, TopDownReal, TopDownRealScratch, TopDownScratch,
};
use congenial_core::invariant::{Hierarchy, Piece, Pieces, downwards, upwards};
use congenial_core::law::{DiscreteGaussian, DoubleGeometric, Gaussian, IntegerLaw, Law, Value};
use congenial_core::rng::{Role, Stream, TaskKey, piece_stream};
use std::collections::HashMap;
use std::sync::Mutex;

/// 0 -> 1, 2 (a leaf), 3; 1 -> 4, 5; 3 -> 6. And 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6: two families of one level, each random. With counts.
fn tiny() -> [(Hierarchy, [i64; 7]); 2] {
    let tree = |parents: [usize; 7]| Hierarchy::from_parents(&parents).unwrap();
    [
        (tree([0, 0, 0, 0, 1, 1, 3]), [6, 3, 1, 2, 0, 3, 2]),
        (tree([0, 0, 0, 1, 1, 2, 2]), [6, 3, 3, 0, 3, 2, 1]),
    ]
}

fn key(seed: u64, replicate: u64) -> TaskKey {
    TaskKey { seed, cell: 0, replicate, role: Role::Noise }
}

/// One draw by pieces, of all nodes.
fn drawn<S: DownwardSampler<Value: Value>>(
    tree: &Hierarchy,
    pieces: &Pieces,
    sampler: &S,
    key: TaskKey,
) -> Vec<S::Value> {
    let mut noise = vec![S::Value::default(); tree.nodes()];
    noise[0] = sampler.root_noise(&mut piece_stream(key, 0, 0));
    let below = |piece: &Piece, above: &[S::Value], scratch: &mut S::Scratch, out: &mut [S::Value]| {
        sampler.below(piece, above, &mut piece.stream(key), scratch, out);
    };
    downwards(pieces, &Alone, &mut noise, below, |_, _, _| ());
    noise
}

fn exact_case<L: IntegerLaw>(laws: &[L], is_bounded: bool, seed: u64) {
    for (tree, counts) in tiny() {
        let counts = is_bounded.then_some(&counts[..]);
        let law = listed_tree(&tree, laws, counts, 9);
        let sampler = IntegerTree::new(&tree, laws, counts).unwrap();
        for most in [1, 2] {
            let pieces = Pieces::cut(&tree, most).unwrap();
            let mut replicate = 0;
            assert_law(&law, 100_000, || {
                replicate += 1;
                drawn(&tree, &pieces, &sampler, key(seed + most as u64, replicate))
            });
        }
    }
}

/// Against the law as listed, at the level 1e-6.
#[test]
fn exact_integers_have_the_listed_law() {
    let geometric: Vec<_> =
        [0.5, 0.7, 0.4].iter().map(|&scale| DoubleGeometric::new(scale).unwrap()).collect();
    let gaussian: Vec<_> =
        [0.8, 1.1, 0.9].iter().map(|&sigma| DiscreteGaussian::new(sigma).unwrap()).collect();
    exact_case(&geometric, false, 100);
    exact_case(&geometric, true, 110);
    exact_case(&gaussian, false, 120);
    exact_case(&gaussian, true, 130);
}

/// Every node, and differences of siblings in two families, against what is drawn at once, at the level 1e-6.
#[test]
fn exact_gaussian_agrees_with_the_whole() {
    let [_, (tree, _)] = tiny();
    let laws: Vec<_> = [0.8, 1.1, 0.9].iter().map(|&sigma| Gaussian::new(sigma).unwrap()).collect();
    let sampler = GaussianTree::new(&tree, &laws).unwrap();
    let pieces = Pieces::cut(&tree, 1).unwrap();
    let mut rng = test_stream(140);
    let mut whole = vec![0.0; 7];
    let mut samples = vec![(Vec::new(), Vec::new()); 8];
    for replicate in 0..40_000 {
        let cut = drawn(&tree, &pieces, &sampler, key(141, replicate));
        sampler.draw(&mut rng, &mut whole);
        for v in 0..7 {
            samples[v].0.push(cut[v]);
            samples[v].1.push(whole[v]);
        }
        samples[7].0.push(cut[3] - cut[4] - cut[5] + cut[6]);
        samples[7].1.push(whole[3] - whole[4] - whole[5] + whole[6]);
    }
    for (a, b) in samples {
        assert_same_distribution(a, b);
    }
}

/// Three levels below the root, families of one to five children.
fn bushy() -> Hierarchy {
    let mut parents = vec![0usize];
    let mut level = 0..1;
    for families in [vec![3], vec![2, 4, 1], vec![1, 3, 5, 2, 2, 1, 4]] {
        let next = parents.len();
        for (v, &children) in level.clone().zip(&families) {
            parents.extend(std::iter::repeat_n(v, children));
        }
        level = next..parents.len();
    }
    Hierarchy::from_parents(&parents).unwrap()
}

/// The noise of a piece, and its stream behind it.
fn noise_of(law: DoubleGeometric, key: TaskKey, piece: &Piece) -> (Vec<i64>, Stream) {
    let mut rng = piece.stream(key);
    let noise = piece.children.clone().map(|_| law.sample(&mut rng)).collect();
    (noise, rng)
}

/// All noise of a release.
fn all_noise(law: DoubleGeometric, key: TaskKey, pieces: &Pieces) -> Vec<i64> {
    let mut noise = vec![law.sample(&mut piece_stream(key, 0, 0))];
    for level in 1..pieces.levels() {
        pieces.level(level).iter().for_each(|piece| noise.extend(noise_of(law, key, piece).0));
    }
    noise
}

/// The noise of the estimates of all nodes, from below.
fn estimates(l2: &L2, pieces: &Pieces, noise: &[i64]) -> Vec<f64> {
    let mut upper: Vec<f64> = noise[..pieces.last_start()].iter().map(|&z| z as f64).collect();
    let last: Vec<f64> = noise[pieces.last_start()..].iter().map(|&z| z as f64).collect();
    l2.estimate(pieces, &Alone, &mut upper, |piece, out| {
        let start = piece.children.start - pieces.last_start();
        out.copy_from_slice(&last[start..start + out.len()]);
    });
    upper.into_iter().chain(last).collect()
}

/// The projection of the same noise is the same, bit for bit.
#[test]
fn l2_in_pieces_is_l2() {
    let (tree, law) = (bushy(), DoubleGeometric::new(2.0).unwrap());
    let l2 = L2::new(&tree, &[1.0, 2.0, 0.5, 3.0]).unwrap();
    for most in [1, 2, 3, 5] {
        let pieces = Pieces::cut(&tree, most).unwrap();
        for replicate in 0..50 {
            let noise = all_noise(law, key(150, replicate), &pieces);
            let mut want: Vec<f64> = noise.iter().map(|&z| z as f64).collect();
            l2.project(&mut want);
            let estimates = estimates(&l2, &pieces, &noise);
            let mut got = vec![0.0; tree.nodes()];
            got[0] = estimates[0];
            let below = |piece: &Piece, above: &[f64], (): &mut (), out: &mut [f64]| {
                out.copy_from_slice(&estimates[piece.children.clone()]);
                l2.spread(piece, above, out);
            };
            let sum = |piece: &Piece, above: &mut [f64], below: &[f64]| tree.sum_piece(piece, above, below);
            downwards(&pieces, &Alone, &mut got, below, sum);
            upwards(&pieces, &Alone, &mut got, sum);
            assert_eq!(got, want);
        }
    }
}

/// Values of the last level are seen piece by piece where they are not kept, and are those that are kept elsewhere.
#[test]
fn what_is_seen_is_what_is_kept() {
    let tree = bushy();
    let law = DoubleGeometric::new(2.0).unwrap();
    let pieces = Pieces::cut(&tree, 3).unwrap();
    let noise = all_noise(law, key(155, 0), &pieces);
    let below = |piece: &Piece, _: &[i64], (): &mut (), out: &mut [i64]| {
        out.copy_from_slice(&noise_of(law, key(155, 0), piece).0);
    };
    let mut kept = vec![0; tree.nodes()];
    let mut upper = vec![0; pieces.last_start()];
    (kept[0], upper[0]) = (noise[0], noise[0]);
    downwards(&pieces, &Alone, &mut kept, below, |_, _, _| ());
    let seen = Mutex::new(Vec::new());
    let numbers = downwards(&pieces, &Alone, &mut upper, below, |piece, _, below| {
        seen.lock().unwrap().extend_from_slice(below);
        piece.number
    });
    assert!(numbers.into_iter().eq(0..pieces.last().len()));
    upper.append(&mut seen.into_inner().unwrap());
    assert_eq!((&kept, &upper), (&noise, &noise));
}

/// Frequencies of the releases by pieces from given noise against those at once, where ties alone are random: a
/// chi-square test at the level 1e-6 of two samples.
fn same_ties(mut cut: impl FnMut(u64) -> Vec<i64>, mut whole: impl FnMut() -> Vec<i64>) {
    let mut seen: HashMap<Vec<i64>, [u64; 2]> = HashMap::new();
    let draws = 30_000;
    for replicate in 0..draws {
        seen.entry(cut(replicate)).or_default()[0] += 1;
        seen.entry(whole()).or_default()[1] += 1;
    }
    assert!(seen.len() > 1, "no ties");
    // Given both together each is as likely in the one as in the other.
    for [a, b] in seen.into_values() {
        let (n, difference) = ((a + b) as f64, a as f64 - b as f64);
        assert!(difference.abs() <= 6.5 * n.sqrt().max(4.0), "{a} {b}");
    }
}

fn counts(tree: &Hierarchy) -> Vec<i64> {
    let mut counts: Vec<i64> = (0..tree.nodes() as i64).map(|v| v * 7919 % 5).collect();
    tree.sum_up(&mut counts);
    counts
}

#[test]
fn topdown_in_pieces_is_topdown() {
    let (tree, law) = (bushy(), DoubleGeometric::new(2.0).unwrap());
    let counts = counts(&tree);
    let topdown = TopDown::new(&tree, &counts);
    for (most, noisy) in [(1, 160), (3, 161), (5, 162)] {
        let pieces = Pieces::cut(&tree, most).unwrap();
        let noise = all_noise(law, key(noisy, 0), &pieces);
        let noisy: Vec<i64> = noise.iter().zip(&counts).map(|(z, x)| z + x).collect();
        let (mut rng, mut scratch) = (test_stream(163), TopDownScratch::default());
        same_ties(
            |replicate| {
                let mut released = vec![0; tree.nodes()];
                released[0] = topdown.root(noisy[0], &mut test_stream(replicate));
                let below = |piece: &Piece, above: &[i64], scratch: &mut _, out: &mut [i64]| {
                    let (noisy, key) = (&noisy[piece.children.clone()], key(164, replicate));
                    topdown.below(piece, above, noisy, &mut piece.stream(key), scratch, out);
                };
                downwards(&pieces, &Alone, &mut released, below, |_, _, _| ());
                tree.check(&released).unwrap();
                released
            },
            || {
                let mut released = vec![0; tree.nodes()];
                topdown.release(&noisy, &mut rng, &mut scratch, &mut released);
                released
            },
        );
    }
}

#[test]
fn topdown_of_reals_in_pieces_is_that_of_the_whole() {
    let tree = bushy();
    let counts = counts(&tree);
    let topdown = TopDownReal::new(&tree, &counts);
    for (most, noisy) in [(1, 165), (3, 166), (5, 167)] {
        let pieces = Pieces::cut(&tree, most).unwrap();
        let noise = all_noise(DoubleGeometric::new(2.0).unwrap(), key(noisy, 0), &pieces);
        let noisy: Vec<f64> = noise.iter().zip(&counts).map(|(z, x)| (z + x) as f64 + 0.25).collect();
        let (mut whole, mut released) = (vec![0.0; tree.nodes()], vec![0.0; tree.nodes()]);
        topdown.release(&noisy, &mut TopDownRealScratch::default(), &mut whole);
        released[0] = topdown.root(noisy[0]);
        let below = |piece: &Piece, above: &[f64], scratch: &mut _, out: &mut [f64]| {
            topdown.below(piece, above, &noisy[piece.children.clone()], scratch, out);
        };
        downwards(&pieces, &Alone, &mut released, below, |_, _, _| ());
        assert_eq!(released, whole);
    }
}

#[test]
fn bluedown_in_pieces_is_bluedown() {
    let (tree, law) = (bushy(), DoubleGeometric::new(2.0).unwrap());
    let counts = counts(&tree);
    let bluedown = BlueDown::new(&tree, &[law.variance(); 4], &counts).unwrap();
    for (most, seed) in [(1, 170), (3, 171), (5, 172)] {
        let pieces = Pieces::cut(&tree, most).unwrap();
        let noise = all_noise(law, key(seed, 0), &pieces);
        let estimates = estimates(bluedown.estimates(), &pieces, &noise);
        let root = estimates[0];
        let estimates: Vec<f64> = estimates.into_iter().zip(&counts).map(|(z, &x)| z + x as f64).collect();
        let (mut rng, mut scratch) = (test_stream(173), BlueDownScratch::default());
        same_ties(
            |replicate| {
                let mut released = vec![0; tree.nodes()];
                released[0] = bluedown.root(counts[0], root, &mut test_stream(replicate));
                let below = |piece: &Piece, above: &[i64], scratch: &mut _, out: &mut [i64]| {
                    let (noisy, key) = (&estimates[piece.children.clone()], key(174, replicate));
                    bluedown.below(piece, above, noisy, &mut piece.stream(key), scratch, out);
                };
                downwards(&pieces, &Alone, &mut released, below, |_, _, _| ());
                tree.check(&released).unwrap();
                released
            },
            || {
                let mut released = vec![0; tree.nodes()];
                bluedown.release(&counts, &noise, &mut rng, &mut scratch, &mut released);
                released
            },
        );
    }
}
