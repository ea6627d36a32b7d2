// liblemma.so from Rust, by declarations of its own: a launch, a variable of the module, a fault, an error.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::ptr::{null, null_mut};

#[repr(C)]
struct Error {
    kind: i32,
    text: *const c_char, // more follows
}

#[repr(C)]
struct Bytes {
    data: *const c_void,
    size: usize,
}

#[repr(C)]
#[derive(Default)]
struct LaunchConfig {
    size: usize,
    grid: [u32; 3],
    block: [u32; 3],
    // What this program lacks is zero.
}

#[repr(C)]
struct Place {
    ptx_line: u32, // more follows
}

#[repr(C)]
struct Strings {
    count: usize,
    items: *const *const c_char,
}

#[repr(C)]
struct Fault {
    kind: i32,
    id: *const c_char,
    message: *const c_char,
    notes: Strings,
    place: *const Place, // more follows
}

#[repr(C)]
struct Report {
    outcome: i32,
    fault: *const Fault, // more follows
}

#[link(name = "lemma")]
extern "C" {
    fn lemma_version() -> *const c_char;
    fn lemma_error_release(error: *const Error);
    fn lemma_device_open(kind: *const c_char, options: *const c_void, device: *mut *mut c_void) -> *const Error;
    fn lemma_device_close(device: *mut c_void);
    fn lemma_module_load(
        device: *mut c_void, text: *const c_char, bytes: usize, options: *const c_void, module: *mut *mut c_void,
    ) -> *const Error;
    fn lemma_module_unload(module: *mut c_void);
    fn lemma_allocate(device: *mut c_void, bytes: u64, options: *const c_void, address: *mut u64) -> *const Error;
    fn lemma_copy_from_device(device: *mut c_void, to: *mut c_void, address: u64, bytes: u64) -> *const Error;
    fn lemma_variable_set(module: *mut c_void, name: *const c_char, source: *const c_void, bytes: u64)
        -> *const Error;
    fn lemma_launch(
        module: *mut c_void, kernel: *const c_char, config: *const LaunchConfig, arguments: *const Bytes,
        count: usize, report: *mut *const Report,
    ) -> *const Error;
    fn lemma_report_release(report: *const Report);
}

fn check(error: *const Error) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let text = CStr::from_ptr((*error).text).to_string_lossy().into_owned();
        lemma_error_release(error);
        Err(text)
    }
}

const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 1;
.visible .entry k(.param .u64 data)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [factor];
  mul.lo.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
  ret;
}
";

// The numbers that so many threads store; or the line of a fault.
unsafe fn run(module: *mut c_void, address: u64, threads: u32) -> Result<Option<u32>, String> {
    let config = LaunchConfig { size: std::mem::size_of::<LaunchConfig>(), block: [threads, 1, 1], ..Default::default() };
    let arguments = [Bytes { data: &address as *const u64 as *const c_void, size: 8 }];
    let mut report = null();
    check(lemma_launch(module, null(), &config, arguments.as_ptr(), 1, &mut report))?;
    let fault = (*report).fault;
    let line = if fault.is_null() { None } else { Some((*(*fault).place).ptx_line) };
    assert_eq!((*report).outcome, line.is_some() as i32);
    lemma_report_release(report);
    Ok(line)
}

fn main() -> Result<(), String> {
    unsafe {
        let (mut device, mut module, mut address) = (null_mut(), null_mut(), 0u64);
        let cpu = CString::new("cpu").unwrap();
        let tpu = CString::new("tpu").unwrap();
        assert!(check(lemma_device_open(tpu.as_ptr(), null(), &mut device)).unwrap_err().contains("tpu"));
        check(lemma_device_open(cpu.as_ptr(), null(), &mut device))?;
        check(lemma_module_load(device, TEXT.as_ptr() as *const c_char, TEXT.len(), null(), &mut module))?;
        check(lemma_allocate(device, 128, null(), &mut address))?;
        let (name, factor) = (CString::new("factor").unwrap(), 5u32);
        check(lemma_variable_set(module, name.as_ptr(), &factor as *const u32 as *const c_void, 4))?;
        assert_eq!(run(module, address, 32)?, None);
        let mut numbers = [0u32; 32];
        check(lemma_copy_from_device(device, numbers.as_mut_ptr() as *mut c_void, address, 128))?;
        assert!(numbers.iter().enumerate().all(|(i, &n)| n == 5 * i as u32));
        assert_eq!(run(module, address, 64)?, Some(15));
        lemma_module_unload(module);
        lemma_device_close(device);
        println!("lemma {}: the C API works from Rust", CStr::from_ptr(lemma_version()).to_string_lossy());
    }
    Ok(())
}
