//! Orthogonal bases of integer rows: ours beside the QR factorisation of nalgebra, in turns, each at its fastest. What
//! `docs/explanation/dependencies.md` says of both is from here.

use congenial_core::lattice::{IntMatrix, gram_schmidt_squares};
use nalgebra::DMatrix;
use std::hint::black_box;
use std::time::Instant;

/// Rows and columns: from a few free dimensions to the widest dense component.
const SIZES: [(usize, usize); 7] = [(2, 16), (7, 16), (14, 30), (25, 46), (64, 270), (128, 500), (256, 2000)];
/// Multiplications of one turn, about.
const WORK: usize = 3_000_000;

fn main() {
    let test = std::env::args().any(|argument| argument == "--test");
    for (rows, columns) in SIZES {
        let entry =
            |i: usize, j: usize| ((7 * i * i + 13 * j + 5 * i * j) % 11) as i64 - 5 + 20 * i64::from(i == j);
        let vectors: Vec<Vec<i64>> = (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect();
        let basis = IntMatrix::from_rows(&vectors).expect("rows of one length");
        let ours = || gram_schmidt_squares(black_box(&basis));
        let theirs = || -> Vec<f64> {
            let basis = DMatrix::from_fn(columns, rows, |i, j| black_box(&vectors)[j][i] as f64);
            let factors = basis.qr();
            (black_box(factors.q()), factors.r()).1.diagonal().iter().map(|x| x * x).collect()
        };
        for (a, b) in ours().into_iter().zip(theirs()) {
            assert!((a - b).abs() < 1e-9 * a, "{rows} x {columns}: {a}, not {b}");
        }
        if test {
            continue;
        }
        let times = (WORK / (rows * rows * columns)).max(1);
        let mut least = [f64::INFINITY; 2];
        for _ in 0..15 {
            for (least, work) in least.iter_mut().zip([&ours as &dyn Fn() -> Vec<f64>, &theirs]) {
                let clock = Instant::now();
                (0..times).for_each(|_| drop(black_box(work())));
                *least = least.min(clock.elapsed().as_secs_f64() / times as f64);
            }
        }
        let [ours, theirs] = least;
        println!("{rows} rows of {columns}: {:.2e} s; nalgebra {:.2} times that", ours, theirs / ours);
    }
}
