//! Which shard a process is.

use crate::engine::Shard;
use crate::failure::{Failure, Result};

/// `m/n` (from 1); `auto`: a task of a Slurm job array; `auto/n`: a pod of an indexed Kubernetes job with n completions.
pub(super) fn read(text: &str) -> Result<Shard> {
    from(text, |name| std::env::var(name).ok())
}

fn from(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Shard> {
    let wrong = |message: String| Err(Failure::Usage(format!("--shard {text}: {message}")));
    let number = |name: &str| -> Result<u64> {
        match variable(name).map(|value| (value.parse(), value)) {
            Some((Ok(number), _)) => Ok(number),
            Some((Err(_), value)) => {
                Err(Failure::Usage(format!("--shard {text}: {name} is `{value}`, want a number")))
            }
            None => Err(Failure::Usage(format!("--shard {text}: {name} is not set"))),
        }
    };
    let or = |name: &str, default: u64| if variable(name).is_some() { number(name) } else { Ok(default) };
    let (number, of) = if text == "auto" {
        let (id, first) = (number("SLURM_ARRAY_TASK_ID")?, or("SLURM_ARRAY_TASK_MIN", 1)?);
        let step = or("SLURM_ARRAY_TASK_STEP", 1)?.max(1);
        (id.saturating_sub(first) / step + 1, number("SLURM_ARRAY_TASK_COUNT")?)
    } else {
        match text.split_once('/').map(|(m, n)| (m, n.parse::<u64>())) {
            Some(("auto", Ok(of))) => (number("JOB_COMPLETION_INDEX")? + 1, of),
            Some((m, Ok(of))) if m.parse::<u64>().is_ok() => (m.parse().unwrap_or(0), of),
            _ => return wrong("want m/n, auto or auto/n".into()),
        }
    };
    if number == 0 || number > of {
        return wrong(format!("got shard {number} of {of}, want 1 to {of}"));
    }
    Ok(Shard { number, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read() {
        let none = |_: &str| None;
        assert_eq!(from("2/3", none).unwrap(), Shard { number: 2, of: 3 });
        for wrong in ["0/3", "4/3", "1/0", "1", "x/3", "1/x", "-1/2", "auto", "auto/3", ""] {
            assert!(from(wrong, none).is_err(), "{wrong}");
        }
        let slurm = |name: &str| {
            let value = match name {
                "SLURM_ARRAY_TASK_ID" => "14",
                "SLURM_ARRAY_TASK_MIN" => "10",
                "SLURM_ARRAY_TASK_STEP" => "2",
                "SLURM_ARRAY_TASK_COUNT" => "5",
                _ => return None,
            };
            Some(value.to_owned())
        };
        assert_eq!(from("auto", slurm).unwrap(), Shard { number: 3, of: 5 });
        let pod = |name: &str| (name == "JOB_COMPLETION_INDEX").then(|| "0".to_owned());
        assert_eq!(from("auto/8", pod).unwrap(), Shard { number: 1, of: 8 });
        let broken = |name: &str| (name == "JOB_COMPLETION_INDEX").then(|| "first".to_owned());
        assert!(from("auto/8", broken).unwrap_err().to_string().contains("`first`, want a number"));
    }
}
