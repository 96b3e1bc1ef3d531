//! Memory: what the daemon uses, and what limits it.
//!
//! In: a process id. Out: one finding: resident memory, split into the process's own pages and mapped files, against
//! the limit of its control group, or else the machine's memory.

use std::fs;
use std::path::Path;

use client::render::health::Finding;

use super::{good, warning};

/// Share of a limit, in percent, above which to warn.
const NEARLY_ALL: u64 = 90;

/// Memory of a process, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Use {
    resident: u64,
    own: u64,
    peak: u64,
}

/// Reports what a daemon uses and what limits it.
pub(super) fn finding(pid: u32) -> Finding {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let Some(used) = used(&status) else { return good("memory", "unknown") };
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let read = |path: &str| fs::read_to_string(Path::new("/sys/fs/cgroup").join(path)).ok();
    let limit = group_limit(&groups, &read);
    let machine =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| field(&text, "MemTotal:"));
    judge(used, limit, machine)
}

fn judge(used: Use, limit: Option<u64>, machine: Option<u64>) -> Finding {
    let (resident, own, peak) = (mib(used.resident), mib(used.own), mib(used.peak));
    let detail = format!("{resident} ({own} private, the rest mapped files; peak {peak})");
    match (limit, machine) {
        (Some(limit), _) if used.own * 100 > limit * NEARLY_ALL => warning(
            "memory",
            format!("{detail}; its control group allows {}", mib(limit)),
            "raise the limit of its unit (`MemoryMax`), or index fewer files",
        ),
        (Some(limit), _) => {
            good("memory", format!("{detail}; its control group allows {}", mib(limit)))
        }
        (None, Some(machine)) => {
            good("memory", format!("{detail}; limited only by the machine's {}", mib(machine)))
        }
        (None, None) => good("memory", detail),
    }
}

fn mib(kib: u64) -> String {
    format!("{} MiB", kib.div_ceil(1024))
}

fn used(status: &str) -> Option<Use> {
    let of = |name| field(status, name);
    let (own, peak) = (of("RssAnon:").unwrap_or(0), of("VmHWM:").unwrap_or(0));
    Some(Use { resident: of("VmRSS:")?, own, peak })
}

/// Returns the number of KiB after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the lowest limit of a control group and its ancestors, in KiB.
fn group_limit(groups: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limits = Path::new(group).ancestors().filter_map(|around| {
        let text = read(&around.join("memory.max").display().to_string())?;
        Some(text.trim().parse::<u64>().ok()? / 1024)
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use client::render::health::Verdict;

    use super::*;

    #[test]
    fn a_process_s_numbers_are_read() {
        let status = "Name:\tkgd\nVmHWM:\t  70000 kB\nVmRSS:\t  60000 kB\nRssAnon:\t  40000 kB\n";
        assert_eq!(used(status), Some(Use { resident: 60_000, own: 40_000, peak: 70_000 }));
        assert_eq!(used(""), None);
    }

    #[test]
    fn the_lowest_limit_of_the_groups_around_counts() {
        let read = |path: &str| match path {
            "user/unit/memory.max" => Some("max\n".to_string()),
            "user/memory.max" => Some("1048576\n".to_string()),
            "memory.max" => Some("4194304\n".to_string()),
            _ => None,
        };
        assert_eq!(group_limit("0::/user/unit\n", &read), Some(1024));
        assert_eq!(group_limit("0::/\n", &|_| None), None);
        assert_eq!(group_limit("4:memory:/old\n", &read), None);
    }

    #[test]
    fn little_room_is_a_warning() {
        let used = Use { resident: 2_000, own: 950, peak: 2_000 };
        let verdict = |limit, machine| judge(used, limit, machine).verdict;
        assert_eq!(verdict(Some(1_000), None), Verdict::Warning);
        assert_eq!(verdict(Some(2_000), None), Verdict::Good);
        assert_eq!(verdict(None, Some(1_000)), Verdict::Good);
    }
}
