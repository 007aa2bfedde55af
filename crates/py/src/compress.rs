//! Compressed sizes of real pages, for the compressibility sampler.

use pyo3::prelude::*;
use swaplab_swap::compress::{same_filled, size};
use swaplab_swap::zsmalloc::Pool;
use swaplab_swap::Algorithm;
use swaplab_vocab::PAGE_SIZE;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compressed_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(pool_bytes, module)?)
}

/// For each complete page of `data`, its size compressed by lzo-rle, lz4 and zstd; `None` for a
/// same-filled page.
#[pyfunction]
fn compressed_sizes(py: Python<'_>, data: &[u8]) -> Vec<Option<[u32; 3]>> {
    let pages = data.chunks_exact(PAGE_SIZE as usize);
    py.detach(|| pages.map(|page| (!same_filled(page)).then(|| Algorithm::ALL.map(|a| size(page, a)))).collect())
}

/// Size in bytes of a zram pool with objects of these sizes.
#[pyfunction]
fn pool_bytes(sizes: Vec<u32>) -> u64 {
    let mut pool = Pool::new();
    sizes.into_iter().for_each(|bytes| pool.add(bytes));
    pool.bytes()
}
