//! Workers of a cluster, reached through the Python package (`python -m fairfront._bridge`).

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use fairfront_core::{Error as CoreError, Workers};
use fairfront_data::Error;

use crate::progress;

/// The environment variable with the Python interpreter that has the package.
const PYTHON: &str = "FAIRFRONT_PYTHON";
/// Workers if no number is set.
const USUAL_WORKERS: usize = 2;
/// The number of answers that announces an error.
const FAILED: u32 = u32::MAX;
/// The start of a line that the bridge writes for the user.
const WARNING: &str = "warning: ";
/// The time in which the bridge ends its workers.
const END: Duration = Duration::from_secs(10);

/// The cluster of a fit.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    /// Fit on the Ray cluster at this address; auto finds a running one, local starts one on this
    /// machine. Needs the Python package fairfront[ray]
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with = "dask",
        help_heading = "Cluster"
    )]
    pub(crate) ray: Option<String>,
    /// Fit on the Dask cluster whose scheduler has this address; local starts one on this machine.
    /// Needs the Python package fairfront[dask]
    #[arg(long, value_name = "ADDRESS", help_heading = "Cluster")]
    pub(crate) dask: Option<String>,
    /// Number of workers that hold the rows; does not affect the result [default: 2]. Without --ray
    /// and --dask, they are processes of this machine, which need the Python package
    #[arg(long, value_name = "N", help_heading = "Cluster")]
    pub(crate) workers: Option<usize>,
}

impl ClusterArgs {
    /// The cluster, if there is one.
    pub(crate) fn cluster(&self) -> anyhow::Result<Option<Cluster>> {
        let (kind, address) = match (&self.ray, &self.dask, self.workers) {
            (Some(address), _, _) => ("ray", address.as_str()),
            (None, Some(address), _) => ("dask", address.as_str()),
            (None, None, Some(_)) => ("processes", "local"),
            (None, None, None) => return Ok(None),
        };
        let workers = self.workers.unwrap_or(USUAL_WORKERS);
        if workers == 0 {
            return Err(Error::usage("--workers 0: a fit needs workers; choose at least 1").into());
        }
        Ok(Some(Cluster {
            kind,
            address: address.into(),
            workers,
        }))
    }
}

/// A cluster and the number of workers on it.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    kind: &'static str,
    address: String,
    workers: usize,
}

impl Cluster {
    /// Starts the bridge, whose workers load the rows of a block file.
    pub(crate) fn start(&self, file: &Path) -> anyhow::Result<Bridge> {
        let python = std::env::var(PYTHON)
            .ok()
            .filter(|python| !python.is_empty());
        let python = python.unwrap_or_else(|| "python3".into());
        let child = Command::new(&python)
            .args(["-m", "fairfront._bridge", self.kind, &self.address])
            .arg(file)
            .arg(self.workers.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.with_context(|| {
            format!(
                "{python}: cannot be started; install Python with {}, or set {PYTHON} to its interpreter",
                self.package()
            )
        })?;
        let mut pipes = Pipes::new(child)?;
        match pipes.answers() {
            Ok(_) => Ok(Bridge {
                pipes: Mutex::new(pipes),
            }),
            Err(Failed::Said(message)) => anyhow::bail!("the cluster: {message}"),
            Err(Failed::Ended(last)) if last.contains("No module named") => anyhow::bail!(
                "{python}: the package {} is not installed there ({last}); install it, or set {PYTHON} to another \
                 interpreter",
                self.package()
            ),
            Err(Failed::Ended(last)) => {
                anyhow::bail!("{python}: the bridge to the cluster ended ({last})")
            }
        }
    }

    fn package(&self) -> &'static str {
        match self.kind {
            "ray" => "fairfront[ray]",
            "dask" => "fairfront[dask]",
            _ => "fairfront",
        }
    }
}

/// A bridge to workers.
#[derive(Debug)]
pub(crate) struct Bridge {
    pipes: Mutex<Pipes>,
}

impl Workers for Bridge {
    fn ask(
        &self,
        part: usize,
        request: &[u8],
        block: Option<usize>,
    ) -> Result<Vec<Vec<u8>>, CoreError> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = match pipes.send(part, request, block) {
            Ok(()) => pipes.answers(),
            // The bridge may have announced the reason before it ended.
            Err(_) => pipes.answers().and_then(|_| Err(pipes.ended())),
        };
        answers.map_err(|failed| {
            CoreError::Workers(match failed {
                Failed::Said(message) => message,
                Failed::Ended(last) => format!("the bridge to the cluster ended ({last})"),
            })
        })
    }
}

/// The reason why answers are missing.
enum Failed {
    /// An error that the bridge announced.
    Said(String),
    /// The bridge ended; the last line that it wrote to standard error.
    Ended(String),
}

/// The process of the bridge.
#[derive(Debug)]
struct Pipes {
    child: Child,
    /// `None` at the end, so that the bridge ends too.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    last_line: Arc<Mutex<String>>,
    lines: Option<JoinHandle<()>>,
}

impl Pipes {
    fn new(mut child: Child) -> anyhow::Result<Self> {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let errors = child.stderr.take();
        let missing = "the bridge has no pipes";
        let last_line = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&last_line);
        let lines = errors.map(|errors| {
            std::thread::spawn(move || {
                let lines = BufReader::new(errors).split(b'\n');
                for line in lines.map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line).trim().to_owned();
                    if line.starts_with(WARNING) {
                        progress::note_meanwhile(&format!("{line}\n"));
                    } else if !line.is_empty() {
                        *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
                    }
                }
            })
        });
        Ok(Self {
            input: Some(BufWriter::new(input.context(missing)?)),
            output: BufReader::new(output.context(missing)?),
            child,
            last_line,
            lines,
        })
    }

    fn send(&mut self, part: usize, request: &[u8], block: Option<usize>) -> io::Result<()> {
        let Some(input) = &mut self.input else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        input.write_all(&(part as u32).to_le_bytes())?;
        let block = block.map_or(0, |block| block as u64 + 1);
        input.write_all(&block.to_le_bytes())?;
        input.write_all(&(request.len() as u64).to_le_bytes())?;
        input.write_all(request)?;
        input.flush()
    }

    fn answers(&mut self) -> Result<Vec<Vec<u8>>, Failed> {
        let mut number = [0; 4];
        self.read(&mut number)?;
        let number = u32::from_le_bytes(number);
        if number == FAILED {
            let message = self.bytes()?;
            return Err(Failed::Said(String::from_utf8_lossy(&message).into_owned()));
        }
        (0..number).map(|_| self.bytes()).collect()
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Failed> {
        let mut length = [0; 8];
        self.read(&mut length)?;
        let length = u64::from_le_bytes(length);
        // A wrong length must not allocate memory for bytes that do not arrive.
        let mut bytes = Vec::new();
        let read = (&mut self.output).take(length).read_to_end(&mut bytes);
        match read.is_ok_and(|read| read as u64 == length) {
            true => Ok(bytes),
            false => Err(self.ended()),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Failed> {
        let read = self.output.read_exact(bytes);
        read.map_err(|_| self.ended())
    }

    /// The reason why the process ended.
    fn ended(&mut self) -> Failed {
        self.input = None;
        let _ = self.wait();
        if let Some(lines) = self.lines.take_if(|lines| lines.is_finished()) {
            let _ = lines.join();
        }
        let last = self
            .last_line
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Failed::Ended(match last.as_str() {
            "" => "without a message".into(),
            last => last.to_owned(),
        })
    }

    /// Waits for the end of the process, and ends it if that takes too long.
    fn wait(&mut self) -> io::Result<()> {
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > END {
                self.child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.input = None;
        // Nothing more can be done if this fails.
        let _ = self.wait();
    }
}
