//! What a process was that drew rows: where it ran, on what, how long.

use crate::files::of_the_kernel;
use crate::machine::peak_memory;
use serde::{Deserialize, Serialize};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A process that drew rows of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Name of the machine.
    pub host: String,
    /// The name that the processor has for itself; empty if unknown.
    pub cpu: String,
    /// What the processor can do beyond its architecture's least, as far as it matters to speed. No number depends on it.
    pub cpu_features: Vec<String>,
    /// Threads of the pool.
    pub threads: usize,
    /// The start by the machine's clock, UTC.
    pub started: String,
    /// The end by the machine's clock, UTC. A clock that was set back may put it before the start; `seconds` does not
    /// know of that.
    pub finished: String,
    /// Wall-clock time by a clock that nobody sets.
    pub seconds: f64,
    /// The most bytes of memory that it held at once; `None` if unknown.
    #[serde(default)]
    pub peak_memory: Option<u64>,
}

/// A process that has begun to draw.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    threads: usize,
    at: SystemTime,
    clock: Instant,
}

impl Started {
    /// Notes that the process begins now.
    pub fn now(threads: usize) -> Self {
        Self { threads, at: SystemTime::now(), clock: Instant::now() }
    }

    /// The seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    /// Notes that the process ends now.
    pub fn end(self) -> Process {
        let host = of_the_kernel("/proc/sys/kernel/hostname").or_else(|| std::env::var("HOSTNAME").ok());
        let cpu = of_the_kernel("/proc/cpuinfo").and_then(|text| {
            let named = text.lines().find(|line| line.starts_with("model name"))?;
            named.split_once(':').map(|(_, name)| name.trim().to_owned())
        });
        Process {
            host: host.unwrap_or_default().trim().into(),
            cpu: cpu.unwrap_or_default(),
            cpu_features: features(),
            threads: self.threads,
            started: utc(self.at),
            finished: utc(SystemTime::now()),
            seconds: self.seconds(),
            peak_memory: peak_memory(),
        }
    }
}

/// What the processor can do, as found at run time.
fn features() -> Vec<String> {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    let found = {
        macro_rules! detect {
            ($($name:tt),*) => { vec![$(($name, std::arch::is_x86_feature_detected!($name))),*] };
        }
        detect!("sse4.2", "popcnt", "avx", "avx2", "bmi2", "fma", "avx512f", "avx512dq", "avx512vl")
    };
    #[cfg(target_arch = "aarch64")]
    let found = {
        macro_rules! detect {
            ($($name:tt),*) => { vec![$(($name, std::arch::is_aarch64_feature_detected!($name))),*] };
        }
        detect!("neon", "lse", "sve", "sve2")
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    let found: Vec<(&str, bool)> = Vec::new();
    found.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned()).collect()
}

/// The time by the machine's clock, UTC, as `YYYY-MM-DDTHH:MM:SSZ`.
pub(crate) fn now() -> String {
    utc(SystemTime::now())
}

/// A time as `YYYY-MM-DDTHH:MM:SSZ`; before 1970 as 1970.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days to civil date, Howard Hinnant's algorithm.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn utc_dates() {
        let at = |seconds: u64| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(1_643_673_600), "2022-02-01T00:00:00Z");
        assert_eq!(utc(UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_clock_that_was_set_back_is_no_error() {
        let mut started = Started::now(3);
        started.at += Duration::from_secs(1_000_000);
        let process = started.end();
        assert!(process.finished < process.started && process.seconds >= 0.0 && process.threads == 3);
    }
}
