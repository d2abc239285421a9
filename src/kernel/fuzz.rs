//! exploration
use crate::invariant::*;
use crate::lattice::{IntMatrix, Sparse};
use crate::law::*;
use crate::rng::{Rng, Stream, below, open01};
use crate::testing::test_stream;
use std::collections::HashMap;

fn pick<T: Copy>(rng: &mut Stream, from: &[T]) -> T {
    from[below(rng, from.len() as u64) as usize]
}

fn system(rng: &mut Stream) -> Option<(String, Linear, Region)> {
    let d = 3 + below(rng, 4) as usize;
    let large = below(rng, 4) == 0;
    let counts: Vec<i64> = (0..d)
        .map(|_| if below(rng, 3) == 0 { 0 } else { below(rng, if large { 30 } else { 7 }) as i64 })
        .collect();
    let row = |rng: &mut Stream, most: i64| -> Vec<i64> {
        (0..d).map(|_| below(rng, 2 * most as u64 + 1) as i64 - most).collect()
    };
    let most = pick(rng, &[1, 2, 2, 4]);
    let k = 1 + below(rng, 2) as usize;
    let rows: Vec<Vec<i64>> = (0..k).map(|_| row(rng, most)).collect();
    let kind = below(rng, 6);
    let equations = match kind {
        0 => Linear::total(d).ok()?,
        _ => Linear::matrix(&IntMatrix::from_rows(&rows)?).ok()?,
    };
    let mut inequalities = Inequalities::nonnegative(d);
    if below(rng, 2) == 0 {
        let lower = counts.iter().map(|x| x - below(rng, 5) as i64).collect();
        let upper = counts.iter().map(|x| x + below(rng, 5) as i64).collect();
        inequalities = Inequalities::bounds(lower, upper).ok()?;
    }
    for _ in 0..below(rng, 3) {
        let r = row(rng, 2);
        let at: i64 = r.iter().zip(&counts).map(|(a, b)| a * b).sum();
        let least = at - below(rng, 6) as i64;
        let sparse: Vec<(u32, i64)> = r.iter().enumerate().map(|(i, &a)| (i as u32, a)).collect();
        inequalities = inequalities.and(Inequalities::rows(vec![(sparse, least)]).ok()?);
    }
    let region = inequalities.around(&counts).ok()?;
    Some((format!("{rows:?} kind {kind} counts {counts:?} {region:?}"), equations, region))
}

#[test]
#[ignore]
fn explore() {
    let mut rng = test_stream(777);
    let mut worst: HashMap<String, Vec<(f64, String)>> = HashMap::new();
    let mut n_systems = 0;
    for number in 0..160 {
        let Some((name, equations, region)) = system(&mut rng) else { continue };
        let bounded = region.whole(&equations);
        let Ok(moves) = Moves::within(&bounded) else { continue };
        let Some(vectors) = moves.list(2000) else { continue };
        // BFS
        let d = equations.entries();
        let mut points = vec![vec![0i64; d]];
        let mut at: HashMap<Vec<i64>, usize> = HashMap::from([(points[0].clone(), 0)]);
        let mut i = 0;
        while i < points.len() && points.len() <= 250 {
            for v in &vectors {
                for s in [1, -1] {
                    let mut z = points[i].clone();
                    v.iter().for_each(|&(e, c)| z[e as usize] += s * c as i64);
                    if region.contains(&z) && !at.contains_key(&z) {
                        at.insert(z.clone(), points.len());
                        points.push(z);
                    }
                }
            }
            i += 1;
        }
        let n = points.len();
        if n > 250 || n < 2 { continue }
        n_systems += 1;
        // lines
        let mut lines: Vec<(usize, Vec<Vec<usize>>)> = Vec::new();
        let mut can = Vec::new();
        let mut reach = Vec::new();
        for (k, v) in vectors.iter().enumerate() {
            let mut seen = vec![false; n];
            let mut all = Vec::new();
            let (mut movable, mut far) = (0, 0);
            for p in 0..n {
                if seen[p] { continue }
                let (lo, hi) = region.interval(v, &points[p]);
                let line: Vec<usize> = (lo..=hi).map(|t| {
                    let mut z = points[p].clone();
                    v.iter().for_each(|&(e, c)| z[e as usize] += t * c as i64);
                    at[&z]
                }).collect();
                line.iter().for_each(|&q| seen[q] = true);
                if line.len() > 1 { movable += line.len(); }
                far = far.max(line.len() - 1);
                all.push(line);
            }
            if movable > 0 { lines.push((k, all)); can.push(movable as f64 / n as f64); reach.push(far as f64); }
        }
        let m = lines.len();
        for (law_name, energy) in [("dg3", 0.3), ("dg16", 1.6)] {
            let pi: Vec<f64> = points.iter().map(|z| libm::exp(-energy * z.iter().map(|x| x.abs()).sum::<i64>() as f64)).collect();
            let total: f64 = pi.iter().sum();
            let pi: Vec<f64> = pi.into_iter().map(|p| p / total).collect();
            // current: uniform over all vectors, sweep d
            let norm = |w: Vec<f64>| { let s: f64 = w.iter().sum(); w.into_iter().map(|x| x / s).collect::<Vec<f64>>() };
            let mut policies: Vec<(&str, Vec<f64>, f64)> = Vec::new();
            policies.push(("old", vec![1.0 / vectors.len() as f64; m], d as f64));
            let share = |p: &Vec<f64>| p.iter().zip(&can).map(|(p, c)| p * c).sum::<f64>();
            let uniform = vec![1.0 / m as f64; m];
            policies.push(("uniform, d", uniform.clone(), d as f64));
            policies.push(("uniform, d/share", uniform.clone(), d as f64 / share(&uniform)));
            policies.push(("uniform, max(d,m)", uniform.clone(), (d as f64).max(m as f64)));
            let mob = norm(can.clone());
            policies.push(("mobile, d/share", mob.clone(), d as f64 / share(&mob)));
            let far = norm(reach.clone());
            policies.push(("reach, d/share", far.clone(), d as f64 / share(&far)));
            let half: Vec<f64> = uniform.iter().zip(&mob).map(|(a, b)| 0.5 * (a + b)).collect();
            policies.push(("half, d/share", half.clone(), d as f64 / share(&half)));
            let root = norm(can.iter().map(|x| libm::sqrt(*x)).collect());
            policies.push(("root, d/share", root.clone(), d as f64 / share(&root)));
            for (policy, p, sweep) in policies {
                // worst start: from the farthest points (extremes), and uniform law start
                let mut starts: Vec<usize> = Vec::new();
                for e in 0..d {
                    starts.push((0..n).max_by_key(|&i| points[i][e]).unwrap());
                    starts.push((0..n).min_by_key(|&i| points[i][e]).unwrap());
                }
                starts.push((0..n).min_by(|&a, &b| pi[a].total_cmp(&pi[b])).unwrap());
                starts.sort(); starts.dedup();
                let mut dists: Vec<Vec<f64>> = starts.iter().map(|&s| { let mut v = vec![0.0; n]; v[s] = 1.0; v }).collect();
                let mut steps = 0u64;
                let most = 2000u64.min(30_000_000 / (n * m) as u64);
                loop {
                    let tv = dists.iter().map(|v| 0.5 * v.iter().zip(&pi).map(|(a, b)| (a - b).abs()).sum::<f64>()).fold(0.0, f64::max);
                    if tv < 0.01 || steps >= most { break }
                    for v in dists.iter_mut() {
                        let mut next: Vec<f64> = v.iter().map(|x| x * (1.0 - p.iter().sum::<f64>()).max(0.0)).collect();
                        for ((_, all), p) in lines.iter().zip(&p) {
                            for line in all {
                                let mass: f64 = line.iter().map(|&q| v[q]).sum();
                                let w: f64 = line.iter().map(|&q| pi[q]).sum();
                                for &q in line { next[q] += p * mass * pi[q] / w; }
                            }
                        }
                        *v = next;
                    }
                    steps += 1;
                }
                worst.entry(policy.to_string()).or_default().push((steps as f64 / sweep, format!("{number} {law_name} n {n} vectors {} moving {m} d {d} share {:.3} steps {steps} {name}", vectors.len(), share(&p))));
                worst.entry(format!("{policy} steps")).or_default().push((steps as f64, String::new()));
            }
        }
    }
    println!("{n_systems} systems");
    let mut keys: Vec<_> = worst.keys().cloned().collect();
    keys.sort();
    for k in keys {
        let mut v = worst[&k].clone();
        v.sort_by(|a, b| a.0.total_cmp(&b.0));
        let q = |p: f64| v[((v.len() - 1) as f64 * p) as usize].0;
        println!("{k}: median {:.1} 90% {:.1} 99% {:.1} max {:.1}   {}", q(0.5), q(0.9), q(0.99), q(1.0), v.last().unwrap().1);
    }
    let _ = open01(&mut rng);
}
