//! Rows of block files on the workers of a cluster: both sides, and the calls between them.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use fairfront_core::{Error as CoreError, Workers};
use fairfront_data::{BlockShards, SharedBlocks};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::work::{self, Raised};

/// A block file on the driver, whose super-blocks are sent to workers.
#[pyclass(name = "BlockFile", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyBlockFile {
    file: SharedBlocks,
}

#[pymethods]
impl PyBlockFile {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let file = work::outside(py, 1, || Ok(SharedBlocks::open(Path::new(path))?))?;
        Ok(Self { file })
    }

    /// Everything except the rows, which workers need to read them.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.file.head())
    }

    /// The number of super-blocks of each split.
    #[getter]
    fn super_blocks(&self) -> [usize; 4] {
        self.file.super_blocks()
    }

    /// The bytes of a super-block.
    fn read<'py>(
        &self,
        py: Python<'py>,
        part: usize,
        super_block: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::outside(py, 1, || Ok(self.file.read(part, super_block)?))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// The super-blocks that a worker holds, with the threads that compute its answers.
#[pyclass(name = "Shards", module = "fairfront._fairfront", frozen)]
pub(crate) struct PyShards {
    shards: RwLock<BlockShards>,
    threads: ThreadPool,
}

#[pymethods]
impl PyShards {
    #[new]
    fn new(py: Python<'_>, header: &[u8], threads: usize) -> PyResult<Self> {
        let shards = work::outside(py, 1, || Ok(BlockShards::new(header)?))?;
        Ok(Self {
            shards: RwLock::new(shards),
            // A worker computes many short answers, so its threads stay.
            threads: work::pool(threads)?,
        })
    }

    /// Checks and holds a super-block.
    fn load(&self, py: Python<'_>, part: usize, super_block: usize, data: &[u8]) -> PyResult<()> {
        work::with_threads(py, &self.threads, || {
            let mut shards = self.shards.write().unwrap_or_else(PoisonError::into_inner);
            Ok(shards.load(part, super_block, data)?)
        })
    }

    /// Answers a request about a split.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        part: usize,
        request: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let answer = work::with_threads(py, &self.threads, || {
            let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
            Ok(shards.answer(part, request)?)
        })?;
        Ok(PyBytes::new(py, &answer))
    }
}

/// Workers that a Python object asks.
pub(crate) struct PyWorkers {
    workers: Py<PyAny>,
    raised: Raised,
}

impl PyWorkers {
    pub(crate) fn new(workers: Py<PyAny>, raised: Raised) -> Self {
        Self { workers, raised }
    }
}

impl Workers for PyWorkers {
    fn ask(
        &self,
        part: usize,
        request: &[u8],
        block: Option<usize>,
    ) -> Result<Vec<Vec<u8>>, CoreError> {
        Python::attach(|py| {
            let asked = || -> PyResult<Vec<Vec<u8>>> {
                let request = PyBytes::new(py, request);
                let answers = self
                    .workers
                    .bind(py)
                    .call_method1("ask", (part, request, block))?;
                let answers: Vec<Bound<'_, PyBytes>> = answers.extract()?;
                Ok(answers.iter().map(|a| a.as_bytes().to_vec()).collect())
            };
            asked().map_err(|error| {
                self.raised.keep(error.clone_ref(py));
                CoreError::Custom(Box::new(error))
            })
        })
    }
}
