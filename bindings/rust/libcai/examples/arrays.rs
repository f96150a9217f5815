// SPDX-License-Identifier: BSD-3-Clause
//! What docs/howto/rust.rst shows; without a GPU: `simcuda/sim cargo run --example arrays`

use libcai::memory::{self, Memory, Request};
use libcai::{Array, ArrayBuilder, DType, Device, DeviceType, Pending, Result, Stream, index};

/// Takes arrays of any library. What we queue on our stream, their producers wait for.
fn scale(x: &Array, y: &mut Array, factor: f32, stream: &Stream) -> Result<()> {
    let x = x.read_on(stream)?; // our stream waits for the producer's; the host waits for nobody
    let mut y = y.write_on(stream)?;
    let (from, to) = (x.view::<f32>()?, y.view_mut::<f32>()?); // or an error: not float32, masked
    let (shape, strides) = (from.shape(), from.strides()); // strides in bytes
    println!("launch: {shape:?}, {strides:?}, {:#x} to {:#x}, {factor}", from.data(), to.data());
    Ok(())
} // both uses end, on every path

/// Gives one. Any value can be the owner: it is dropped when nobody uses the array any more.
fn image(memory: Memory, stream: Stream) -> Result<Array> {
    let data = memory.describe()?.data;
    let image = ArrayBuilder::new(data, DType::of::<f32>(), &[100, 200])
        .device(DeviceType::Cuda, Some(0))
        .pending(Pending::Stream(stream.value()));
    // SAFETY: the memory is that large, and is used on that stream; the owner keeps both.
    Ok(unsafe { image.own((memory, stream)) }?)
}

fn main() -> Result<()> {
    let gpu = Device::Cuda(0);
    let theirs = Stream::new(gpu)?;
    let mut x = image(Request::on(gpu).stream(&theirs).bytes(80_000)?, theirs.clone())?;
    memory::fill(&mut x, 1.5f32, Some(&theirs))?;

    let right = x.slice(index![.., 100..])?; // a view: it holds what x holds
    let mut y = Request::on(gpu).empty(DType::of::<f32>(), right.shape())?;
    scale(&right, &mut y, 2.0, &Stream::new(gpu)?)?;

    println!("{}", x.view::<f64>().unwrap_err()); // the entry at fault, and its value
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
