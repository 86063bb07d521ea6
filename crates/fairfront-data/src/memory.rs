//! The memory limit for work on a table, and the check of an estimate against it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use fairfront_core::{Message, say};

use crate::error::Error;
use crate::setting::MEMORY;

/// Bytes of address space that a thread needs for its stack and the allocator.
const THREAD: u64 = 66 << 20;

const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// The memory that the program may use for a table and the work on it.
///
/// ```
/// use fairfront_data::MemoryLimit;
/// let limit: MemoryLimit = "2GiB".parse()?;
/// assert_eq!(limit, MemoryLimit::Bytes(2 << 30));
/// assert_eq!(limit.to_string(), "2.0 GiB");
/// assert_eq!(MemoryLimit::default(), MemoryLimit::Available);
/// # Ok::<(), fairfront_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryLimit {
    /// The memory that is available on the machine at the time of the check, within the limits of control
    /// groups and of the address space.
    #[default]
    Available,
    /// A total number of bytes.
    Bytes(u64),
}

impl MemoryLimit {
    /// The limit in bytes at this moment; the largest number if the machine does not report it.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Available => available(Path::new("/")).unwrap_or(u64::MAX),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Rejects work that needs `more` bytes while the program already holds `held` bytes for it. Place and
    /// subject start the message ("loans.csv", "5 rows of 3 columns"), and `remedies` end it.
    pub fn check(
        self,
        held: u64,
        more: u64,
        place: &str,
        subject: &str,
        remedies: impl FnOnce() -> Vec<Message>,
    ) -> Result<(), Error> {
        // Memory that the program holds is no longer available.
        let needed = match self {
            Self::Available => more,
            Self::Bytes(_) => held.saturating_add(more),
        };
        self.fixed(self.bytes())
            .check(needed, place, subject, remedies)
    }

    /// The error for memory that the system refused although it seemed available.
    pub(crate) fn refused(
        needed: u64,
        place: &str,
        subject: &str,
        remedies: Vec<Message>,
    ) -> Error {
        Error::Memory {
            place: place.into(),
            subject: subject.into(),
            needed: Self::Bytes(needed),
            limit: "system provides".into(),
            remedies,
        }
    }

    /// The limit at this moment, to compare with memory that grows from now on.
    pub(crate) fn now(self) -> FixedLimit {
        self.fixed(self.bytes())
    }

    fn fixed(self, bytes: u64) -> FixedLimit {
        FixedLimit {
            bytes,
            is_set: self != Self::Available,
        }
    }
}

/// A limit, measured when the work began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedLimit {
    bytes: u64,
    is_set: bool,
}

impl FixedLimit {
    /// Rejects work that needs this many bytes in total.
    pub(crate) fn check(
        self,
        needed: u64,
        place: &str,
        subject: &str,
        remedies: impl FnOnce() -> Vec<Message>,
    ) -> Result<(), Error> {
        if needed <= self.bytes {
            return Ok(());
        }
        let mut remedies = remedies();
        let limit = MemoryLimit::Bytes(self.bytes);
        let limit = match self.is_set {
            true => {
                remedies.push(say!["raise ", MEMORY]);
                say!["{limit} set by ", MEMORY]
            }
            false => {
                remedies.push(say!["free memory"]);
                remedies.push(say!["set ", MEMORY, " to continue anyway"]);
                say!["{limit} available"]
            }
        };
        Err(Error::Memory {
            place: place.into(),
            subject: subject.into(),
            needed: MemoryLimit::Bytes(needed),
            limit,
            remedies,
        })
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Bytes(bytes) = *self else {
            return f.write_str("the available memory");
        };
        let units = UNITS[..4].iter().rev();
        let mut large = units.filter(|(_, size)| bytes >= *size);
        match large.next() {
            Some((unit, size)) => write!(f, "{:.1} {unit}", bytes as f64 / *size as f64),
            None => write!(f, "{bytes} B"),
        }
    }
}

impl FromStr for MemoryLimit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::usage(format!(
                "{text}: not an amount of memory; choose one such as 2GiB, 500MB or 1.5GiB"
            ))
        };
        let trimmed = text.trim();
        let unit = UNITS.iter().find_map(|(unit, size)| {
            let at = trimmed.len().checked_sub(unit.len())?;
            let (number, end) = trimmed.split_at_checked(at)?;
            end.eq_ignore_ascii_case(unit).then_some((number, *size))
        });
        let (number, size) = unit.unwrap_or((trimmed, 1));
        let number: f64 = number.trim_end().parse().map_err(|_| wrong())?;
        let bytes = number * size as f64;
        match (1.0..1e18).contains(&bytes) {
            true => Ok(Self::Bytes(bytes as u64)),
            false => Err(wrong()),
        }
    }
}

/// The bytes that this process can still allocate, according to the Linux files under `root`; `None` if the
/// files do not say.
fn available(root: &Path) -> Option<u64> {
    let limits = [
        machine(root),
        address_space(root),
        unified(root),
        memory_group(root),
    ];
    limits.into_iter().flatten().min()
}

fn read(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path.trim_start_matches('/'))).ok()
}

/// The first number after `name` in a list such as `/proc/meminfo`.
fn entry(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn machine(root: &Path) -> Option<u64> {
    let kib = entry(&read(root, "proc/meminfo")?, "MemAvailable:")?;
    Some(kib.saturating_mul(1024))
}

/// The remainder of a limit on the address space (`ulimit -v`), less the space of threads that have not
/// started yet.
fn address_space(root: &Path) -> Option<u64> {
    let most = entry(&read(root, "proc/self/limits")?, "Max address space")?;
    let used = entry(&read(root, "proc/self/status")?, "VmSize:")?;
    let left = most.saturating_sub(used.saturating_mul(1024));
    let threads = THREAD.saturating_mul(rayon::current_num_threads() as u64);
    Some(left - threads.min(left / 2))
}

/// The path of this process in a hierarchy of control groups.
fn group(root: &Path, hierarchy: &str) -> Option<String> {
    let groups = read(root, "proc/self/cgroup")?;
    let mut paths = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        let is_it = names.split(',').any(|name| name == hierarchy);
        is_it.then(|| path.to_owned())
    });
    paths.next()
}

/// The smallest remainder of a control group and its ancestors. The folder of a group may not exist: inside
/// a container, the root is the group of the container.
fn least(path: &str, left: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let above = Path::new(path).ancestors().filter_map(Path::to_str);
    above
        .filter_map(|path| left(path.trim_end_matches('/')))
        .min()
}

/// Control groups of version 2.
fn unified(root: &Path) -> Option<u64> {
    least(&group(root, "")?, |path| {
        let folder = format!("sys/fs/cgroup{path}");
        let number = |file: &str| read(root, &format!("{folder}/{file}"))?.trim().parse().ok();
        let (most, used): (u64, u64) = (number("memory.max")?, number("memory.current")?);
        let stat = read(root, &format!("{folder}/memory.stat")).unwrap_or_default();
        // The kernel reclaims cached pages of files before it refuses memory.
        let files = entry(&stat, "inactive_file").unwrap_or(0);
        Some(most.saturating_sub(used.saturating_sub(files)))
    })
}

/// Control groups of version 1.
fn memory_group(root: &Path) -> Option<u64> {
    least(&group(root, "memory")?, |path| {
        let folder = format!("sys/fs/cgroup/memory{path}");
        let number = |file: &str| read(root, &format!("{folder}/{file}"))?.trim().parse().ok();
        let most: u64 = number("memory.limit_in_bytes")?;
        let used: u64 = number("memory.usage_in_bytes")?;
        let stat = read(root, &format!("{folder}/memory.stat")).unwrap_or_default();
        let files = entry(&stat, "total_inactive_file").unwrap_or(0);
        Some(most.saturating_sub(used.saturating_sub(files)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_shown() {
        let bytes = |text: &str| text.parse::<MemoryLimit>().map(MemoryLimit::bytes);
        for (text, expected) in [
            ("2GiB", 2 << 30),
            ("1.5 gib", 3 << 29),
            ("500MB", 500_000_000),
            ("64kib", 65_536),
            ("12B", 12),
            ("4096", 4096),
        ] {
            assert_eq!(bytes(text).unwrap(), expected, "{text}");
        }
        for text in [
            "", "GiB", "-1GiB", "0", "2 GiBs", "nan", "inf", "1e30", "2é", "é",
        ] {
            let said = bytes(text).unwrap_err();
            assert!(
                said.is_usage() && said.to_string().contains("2GiB"),
                "{said}"
            );
        }
        assert_eq!(MemoryLimit::Bytes(1023).to_string(), "1023 B");
        assert_eq!(MemoryLimit::Bytes(3 << 29).to_string(), "1.5 GiB");
        assert_eq!(MemoryLimit::Bytes(5 << 40).to_string(), "5.0 TiB");
    }

    #[test]
    fn too_much_memory_is_rejected_with_a_remedy() {
        let limit = MemoryLimit::Bytes(1 << 20);
        let check = |held, more| {
            limit.check(held, more, "t.csv", "5 rows", || {
                vec!["drop columns".into()]
            })
        };
        assert!(check(1 << 19, 1 << 19).is_ok());
        let said = check(1 << 20, 1);
        assert_eq!(
            said.unwrap_err().to_string(),
            "t.csv: 5 rows take about 1.0 MiB of memory, more than the 1.0 MiB set by memory; drop \
             columns, or raise memory"
        );
        let said = MemoryLimit::Available.check(0, u64::MAX - 1, "t.csv", "5 rows", Vec::new);
        if cfg!(target_os = "linux") {
            let said = said.unwrap_err().to_string();
            assert!(said.contains(" available; free memory"), "{said}");
        }
        // Available memory excludes memory that is already held.
        assert!(
            MemoryLimit::Available
                .check(u64::MAX - 1, 1, "t.csv", "5 rows", Vec::new)
                .is_ok()
        );
    }

    fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:  9000 kB\nMemAvailable:    4000 kB\n",
    );

    #[test]
    fn machine_and_its_limits_count() {
        assert_eq!(available(files(&[]).path()), None);
        assert_eq!(available(files(&[MEMINFO]).path()), Some(4000 << 10));
        let limits = |most: &str| {
            format!("Limit Soft Hard Units\nMax address space   {most}  {most} bytes\n")
        };
        let status = ("proc/self/status", "VmSize:\t 1024 kB\n");
        let unlimited = limits("unlimited");
        let root = files(&[MEMINFO, ("proc/self/limits", &unlimited), status]);
        assert_eq!(available(root.path()), Some(4000 << 10));
        let capped = limits("3145728");
        let root = files(&[MEMINFO, ("proc/self/limits", &capped), status]);
        // Threads take half of a small remainder.
        assert_eq!(available(root.path()), Some(1 << 20));
    }

    #[test]
    fn control_groups_count_up_to_the_root() {
        let root = files(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "5\n"),
            ("sys/fs/cgroup/a/memory.max", "3000\n"),
            ("sys/fs/cgroup/a/memory.current", "2000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 500\n"),
        ]);
        assert_eq!(available(root.path()), Some(1500));
        let root = files(&[
            MEMINFO,
            ("proc/self/cgroup", "4:memory:/gone\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "2000\n"),
        ]);
        assert_eq!(available(root.path()), Some(1000));
    }
}
