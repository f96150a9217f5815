// SPDX-License-Identifier: BSD-3-Clause
//! Another library's array in a cudarc program, and the result handed on.
//!
//! The array comes as C functions and Python's protocols give it: an owned `cai_array`, on a stream
//! of its producer's, who goes on without waiting for anybody. Run it on a GPU, or without one:
//!
//! ```text
//! simcuda/sim cargo run --example cudarc --features cudarc
//! ```

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use libcai::{Array, Result};

/// Another library: its stream is its own, and what it has queued there is still pending.
fn produce(stream: &Arc<CudaStream>) -> Result<Array> {
    let readings = stream.clone_htod(&[21.5f32, 22.0, 19.0, 23.5, 24.0, 18.5])?;
    Ok(Array::from_cuda_slice(readings, &[2, 3])?)
}

/// Ours: takes a row, works on it on our stream, and gives an array of our own.
fn consume(array: &Array, stream: &Arc<CudaStream>) -> Result<Array> {
    let row = array.slice(&[1.into()])?;
    let row = row.view::<f32>()?.on(stream)?; // our stream waits for theirs, the host for nobody
    let copy = stream.clone_dtod(&row)?; // or a kernel: stream.launch_builder(&f).arg(&row)
    row.try_end()?; // theirs waits for ours: it may write again, or free
    Ok(Array::from_cuda_slice(copy, &[3])?)
}

fn main() -> Result<()> {
    let context = CudaContext::new(0)?;
    let (theirs, ours) = (context.new_stream()?, context.new_stream()?);

    let array = produce(&theirs)?;
    let result = consume(&array, &ours)?;
    drop(array); // frees the memory, once our copy has read it

    let result = result.view::<f32>()?.on(&theirs)?;
    let row = theirs.clone_dtoh(&result)?;
    println!("row 1: {row:?}");
    assert_eq!(row, [23.5, 24.0, 18.5]);
    Ok(())
}
