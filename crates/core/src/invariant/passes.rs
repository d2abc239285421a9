//! Passes over a tree in pieces: from the root down, without the values of the last level where nobody wants them, and up again.

use super::{Piece, Pieces};
use crate::crew::Crew;

/// Computes the values of nodes from the root down: those of the children of every piece from its parents'.
///
/// - `values`: of all nodes above the last level, or of all; the root's is there.
/// - `below`: of a piece and the values of its parents, those of its children.
/// - `seen`: of a piece of the last level and the values of its parents and its children, what is wanted of them. It
///   may change its parents'.
///
/// Returns what was wanted, in order.
pub fn downwards<V: Copy + Default + Send + Sync, S: Default + Send, R: Send>(
    pieces: &Pieces,
    crew: &dyn Crew,
    values: &mut [V],
    below: impl Fn(&Piece, &[V], &mut S, &mut [V]) + Send + Sync,
    seen: impl Fn(&Piece, &mut [V], &[V]) -> R + Send + Sync,
) -> Vec<R> {
    for level in 1..pieces.levels() - 1 {
        let own = pieces.level(level);
        let (above, rest) = values.split_at_mut(own[0].children.start);
        let above = &*above;
        let tasks = own.iter().zip(children(own, rest)).collect();
        crew.each(tasks, |scratch: &mut S, (piece, out): (&Piece, &mut [V])| {
            below(piece, &above[piece.parents.clone()], scratch, out);
        });
    }
    let last = pieces.last();
    let (above, rest) = values.split_at_mut(pieces.last_start());
    let mut kept = children(last, rest).into_iter();
    let tasks = last.iter().zip(parents(last, above)).map(|(piece, above)| (piece, above, kept.next()));
    crew.each(tasks.collect(), |(scratch, own): &mut (S, Vec<V>), (piece, above, kept)| {
        let out = match kept {
            Some(kept) => kept,
            None => {
                own.resize(piece.children.len(), V::default());
                own
            }
        };
        below(piece, above, scratch, out);
        seen(piece, above, out)
    })
}

/// Goes over the levels between the first and the last from below, after [`downwards`]: `seen` of every piece, level by
/// level.
pub fn upwards<V: Send + Sync, R: Send>(
    pieces: &Pieces,
    crew: &dyn Crew,
    values: &mut [V],
    seen: impl Fn(&Piece, &mut [V], &[V]) -> R + Send + Sync,
) -> Vec<Vec<R>> {
    let level = |level: usize| {
        let own = pieces.level(level);
        let (above, below) = values.split_at_mut(own[0].children.start);
        let below = &*below;
        let tasks = own.iter().zip(parents(own, above)).collect();
        crew.each(tasks, |(): &mut (), (piece, above): (&Piece, &mut [V])| {
            let start = piece.children.start - own[0].children.start;
            seen(piece, above, &below[start..start + piece.children.len()])
        })
    };
    (1..pieces.levels() - 1).rev().map(level).collect()
}

/// The values of the parents of all pieces of a level, of those of all nodes above.
pub(crate) fn parents<'a, V>(pieces: &[Piece], above: &'a mut [V]) -> Vec<&'a mut [V]> {
    slices(pieces.iter().map(|piece| piece.parents.len()), &mut above[pieces[0].parents.start..])
}

/// The values of the children of all pieces of a level, of those from the first on; none, if there are none.
fn children<'a, V>(pieces: &[Piece], values: &'a mut [V]) -> Vec<&'a mut [V]> {
    match values.is_empty() {
        true => Vec::new(),
        false => slices(pieces.iter().map(|piece| piece.children.len()), values),
    }
}

fn slices<V>(lengths: impl Iterator<Item = usize>, mut values: &mut [V]) -> Vec<&mut [V]> {
    lengths.map(|length| values.split_off_mut(..length).expect("values of all nodes")).collect()
}
