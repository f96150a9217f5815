// SPDX-License-Identifier: BSD-3-Clause
//! Programs of cudarc's users, in which libcai has no part: that simcuda runs them as a GPU would,
//! and finds no race in them, under any schedule.

mod gpu;
mod kernels;

use std::sync::Arc;
use std::thread;

use cudarc::driver::{
    CudaContext, CudaStream, DriverError, LaunchArgs, LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::compile_ptx;

const COUNT: usize = 1000;

fn context() -> Arc<CudaContext> {
    CudaContext::new(0).unwrap()
}

fn numbers() -> Vec<f32> {
    (0..COUNT).map(|number| number as f32).collect()
}

/// Launches a kernel for so many elements.
fn launch(launch: &mut LaunchArgs<'_>, count: u32) {
    let config = LaunchConfig::for_num_elems(count);
    // SAFETY: the arguments are the kernel's, and as long.
    unsafe { launch.launch(config) }.unwrap();
}

alone! {
    fn copies_and_launches_on_the_default_stream() {
        let context = context();
        let stream = context.default_stream();
        let double = kernels::double(&context);
        let x = stream.clone_htod(&numbers()).unwrap();
        let mut y = stream.alloc_zeros::<f32>(COUNT).unwrap();
        let count = COUNT as u32;
        launch(stream.launch_builder(&double).arg(&mut y).arg(&x).arg(&count), count);
        let doubled = stream.clone_dtoh(&y).unwrap();
        assert!(doubled.iter().zip(numbers()).all(|(y, x)| *y == 2.0 * x));
        assert_eq!(stream.clone_dtoh(&x.clone()).unwrap(), numbers());
    }

    fn kernels_that_the_program_compiles() {
        const SOURCE: &str = r#"
            extern "C" __global__ void scale(float *y, const float *x, float factor, unsigned count) {
                unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < count) y[i] = factor * x[i];
            }
            extern "C" __global__ void sum(float *total, const float *x, unsigned count) {
                __shared__ float part[256];
                unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
                part[threadIdx.x] = i < count ? x[i] : 0.0f;
                for (unsigned step = 128; step > 0; step /= 2) {
                    __syncthreads();
                    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
                }
                if (threadIdx.x == 0) atomicAdd(total, part[0]);
            }
        "#;
        let context = context();
        let module = context.load_module(compile_ptx(SOURCE).unwrap()).unwrap();
        let scale = module.load_function("scale").unwrap();
        let sum = module.load_function("sum").unwrap();
        let (one, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let x = one.clone_htod(&numbers()).unwrap();
        let mut y = one.alloc_zeros::<f32>(COUNT).unwrap();
        let mut total = other.alloc_zeros::<f32>(1).unwrap();
        let (factor, count) = (3.0_f32, COUNT as u32);
        launch(one.launch_builder(&scale).arg(&mut y).arg(&x).arg(&factor).arg(&count), count);
        other.join(&one).unwrap();
        let config = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments are the kernel's.
        unsafe { other.launch_builder(&sum).arg(&mut total).arg(&y).arg(&count).launch(config) }
            .unwrap();
        let wanted = 3.0 * numbers().iter().sum::<f32>();
        assert_eq!(other.clone_dtoh(&total).unwrap(), [wanted]);
    }

    fn parts_of_slices() {
        let context = context();
        let stream = context.default_stream();
        let double = kernels::double(&context);
        let mut x = stream.clone_htod(&numbers()).unwrap();
        let (count, half) = (COUNT as u32 / 2, COUNT / 2);
        let (from, mut to) = x.split_at_mut(half);
        launch(stream.launch_builder(&double).arg(&mut to).arg(&from.as_view()).arg(&count), count);
        let back = stream.clone_dtoh(&x.slice(half..)).unwrap();
        assert!(back.iter().zip(numbers()).all(|(y, x)| *y == 2.0 * x));
        stream.memset_zeros(&mut x.slice_mut(..half)).unwrap();
        assert_eq!(stream.clone_dtoh(&x.slice(..half)).unwrap(), vec![0.0; half]);
    }

    fn a_pipeline_over_three_streams() {
        let context = context();
        let [load, work, store] = [(); 3].map(|()| context.new_stream().unwrap());
        let double = kernels::double(&context);
        let count = COUNT as u32;
        let mut results = Vec::new();
        for round in 0..4 {
            let x = load.clone_htod(&vec![round as f32; COUNT]).unwrap();
            let mut y = work.alloc_zeros::<f32>(COUNT).unwrap();
            launch(work.launch_builder(&double).arg(&mut y).arg(&x).arg(&count), count);
            results.push(store.clone_dtod(&y).unwrap());
        }
        for (round, result) in results.iter().enumerate() {
            assert_eq!(store.clone_dtoh(result).unwrap(), vec![2.0 * round as f32; COUNT]);
        }
    }

    fn forks_and_joins() {
        let context = context();
        let main = context.new_stream().unwrap();
        let x = main.clone_htod(&numbers()).unwrap();
        let side = main.fork().unwrap();
        let y = side.clone_dtod(&x).unwrap();
        main.join(&side).unwrap();
        assert_eq!(main.clone_dtoh(&y).unwrap(), numbers());
    }

    fn events_order_and_tell_the_time() {
        let context = context();
        let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = one.record_event(timed).unwrap();
        let x = one.clone_htod(&numbers()).unwrap();
        let end = one.record_event(timed).unwrap();
        two.wait(&end).unwrap();
        assert_eq!(two.clone_dtoh(&x).unwrap(), numbers());
        assert!(start.elapsed_ms(&end).unwrap() >= 0.0);
        assert!(end.is_complete());
    }

    /// The first stream is made before the threads are: a context's work is waited for by the call
    /// that makes its first stream, and cudarc 0.19.10 lets other threads' calls go on meanwhile.
    fn threads_share_slices() {
        let context = context();
        let x = Arc::new(context.default_stream().clone_htod(&numbers()).unwrap());
        let _first = context.new_stream().unwrap();
        let threads = [(); 3].map(|()| {
            let (context, x) = (context.clone(), x.clone());
            thread::spawn(move || context.new_stream().unwrap().clone_dtoh(&*x).unwrap())
        });
        for thread in threads {
            assert_eq!(thread.join().unwrap(), numbers());
        }
    }

    fn pinned_memory() {
        let context = context();
        let stream = context.new_stream().unwrap();
        // SAFETY: it is written before it is read.
        let mut pinned = unsafe { context.alloc_pinned::<f32>(COUNT) }.unwrap();
        pinned.as_mut_slice().unwrap().copy_from_slice(&numbers());
        let x = stream.clone_htod(&pinned).unwrap();
        pinned.as_mut_slice().unwrap().fill(0.0); // waits for the copy
        stream.memcpy_dtoh(&x, &mut pinned).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), numbers());
    }

    fn a_captured_graph() {
        let context = context();
        let stream = context.new_stream().unwrap();
        let double = kernels::double(&context);
        let (x, mut y) =
            (stream.clone_htod(&numbers()).unwrap(), stream.alloc_zeros::<f32>(COUNT).unwrap());
        let count = COUNT as u32;
        // SAFETY: all of this is on one stream, whose order is enough.
        unsafe { context.disable_event_tracking() };
        let how = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.synchronize().unwrap();
        stream.begin_capture(how).unwrap();
        launch(stream.launch_builder(&double).arg(&mut y).arg(&x).arg(&count), count);
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().expect("something was captured");
        assert_eq!(stream.clone_dtoh(&y).unwrap(), vec![0.0; COUNT], "nothing has run");
        graph.launch().unwrap();
        assert_eq!(stream.clone_dtoh(&y).unwrap()[1..3], [2.0, 4.0]);
    }

    /// On streams of their own: for the default ones, cudarc 0.19.10 leaves the wrong context current.
    fn two_devices() {
        let [one, two] = [0, 1].map(|ordinal| CudaContext::new(ordinal).unwrap());
        let (one, two) = (one.new_stream().unwrap(), two.new_stream().unwrap());
        let x = one.clone_htod(&numbers()).unwrap();
        let y = two.clone_dtod(&x).unwrap();
        assert_eq!(two.clone_dtoh(&y).unwrap(), numbers());
    }

    fn errors_are_told() {
        let context = context();
        let stream: Arc<CudaStream> = context.default_stream();
        gpu::driver().fail(c"cuMemAllocAsync", 1, 2);
        let DriverError(result) = stream.alloc_zeros::<f32>(COUNT).unwrap_err();
        assert_eq!(result, sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert!(stream.alloc_zeros::<f32>(COUNT).is_ok());
    }
}
