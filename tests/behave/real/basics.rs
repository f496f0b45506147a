// SPDX-License-Identifier: Apache-2.0
//! Rust's basics: threads, channels, processes, sockets with time limits, files, panics, the end of the stack.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, panic, process, thread};

fn compute(rounds: u64) -> u64 {
    (0..rounds).fold(1u64, |value, i| value.wrapping_mul(6364136223846793005).wrapping_add(i))
}

fn threads() {
    let sum = Arc::new(AtomicU64::new(0));
    let barrier = Arc::new(Barrier::new(16));
    let all: Vec<_> = (0..16)
        .map(|index| {
            let (sum, barrier) = (sum.clone(), barrier.clone());
            thread::spawn(move || {
                for _ in 0..20 {
                    sum.fetch_add(compute(20000) % 1000, Ordering::SeqCst);
                    barrier.wait();
                }
                index
            })
        })
        .collect();
    let indices: usize = all.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("threads: {} {}", sum.load(Ordering::SeqCst), indices);
    let (sender, receiver) = mpsc::channel();
    for index in 0..8u64 {
        let sender = sender.clone();
        thread::spawn(move || (0..500).for_each(|i| sender.send(index * i).unwrap()));
    }
    drop(sender);
    println!("channel: {}", receiver.iter().sum::<u64>());
    let pair = (Mutex::new(false), Condvar::new());
    let start = Instant::now();
    let mut timeouts = 0;
    for _ in 0..50 {
        compute(20000);
        let guard = pair.0.lock().unwrap();
        timeouts += pair.1.wait_timeout(guard, Duration::from_millis(1)).unwrap().1.timed_out() as u32;
        thread::sleep(Duration::from_millis(1));
        thread::park_timeout(Duration::from_millis(1));
    }
    println!("timeouts: {} {}", timeouts, start.elapsed() >= Duration::from_millis(100));
}

fn processes() {
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = cat.stdin.take().unwrap();
    let writer = thread::spawn(move || input.write_all(&vec![7u8; 3_000_000]).is_ok());
    println!("cat: {} {}", cat.wait_with_output().unwrap().stdout.len(), writer.join().unwrap());
    println!("exit: {:?}", Command::new("sh").args(["-c", "exit 9"]).status().unwrap().code());
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    sleeper.kill().unwrap();
    println!("killed: {}", sleeper.wait().unwrap());
    for kind in ["overflow", "abort", "panic"] {
        let end = Command::new(env::current_exe().unwrap()).arg(kind).stderr(Stdio::null()).status().unwrap();
        println!("{kind}: {end}");
    }
}

fn sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut data = Vec::new();
        socket.read_to_end(&mut data).unwrap();
        socket.write_all(&data).is_ok()
    });
    let mut socket = TcpStream::connect(address).unwrap();
    let data: Vec<u8> = (0..4_000_000u32).map(|i| i as u8).collect();
    socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    let mut kinds = Vec::new();
    for _ in 0..30 {
        compute(20000);
        kinds.push(socket.read(&mut [0; 1]).unwrap_err().kind());
    }
    kinds.dedup();
    println!("limits: {:?}", kinds);
    socket.set_read_timeout(None).unwrap();
    socket.write_all(&data).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = Vec::new();
    socket.read_to_end(&mut back).unwrap();
    println!("echo: {} {}", back == data, echo.join().unwrap());
}

fn files() {
    let path = env::temp_dir().join(format!("behave-{}", process::id()));
    fs::write(&path, vec![1u8; 8 << 20]).unwrap();
    println!("file: {}", fs::read(&path).unwrap().len());
    fs::remove_file(&path).unwrap();
}

#[allow(unconditional_recursion)]
fn too_deep(level: u64) -> u64 {
    let frame = std::hint::black_box([level; 64]);
    too_deep(level + 1) + frame[(level % 64) as usize]
}

fn main() {
    match env::args().nth(1).as_deref() {
        Some("overflow") => println!("{}", too_deep(0)),
        Some("abort") => process::abort(),
        Some("panic") => panic!("asked for"),
        _ => {}
    }
    threads();
    processes();
    sockets();
    files();
    println!("caught: {}", panic::catch_unwind(|| { let none: Option<u8> = None; none.unwrap() }).is_err());
    process::exit(17);
}
