//! The cost of an attendant, beside a bare start of the same shell. Run by hand: `--ignored --nocapture
//! measure_start_up`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::{World, wait_for_end};

const ROUNDS: usize = 300;

pub(crate) fn start_up() {
    let (mut bare, mut attended, mut folder) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let status = Command::new("sh").args(["-c", "true"]).stdin(Stdio::null()).status();
        assert!(status.expect("a shell").success());
        bare.push(start.elapsed());

        let start = Instant::now();
        let world = World::new("true");
        folder.push(start.elapsed());
        let start = Instant::now();
        let mut attending = world.start();
        wait_for_end(attending.fd());
        attending.reap().expect("our own child");
        world.exit();
        attended.push(start.elapsed());
        std::mem::forget(world);
    }
    for (what, times) in [("bare", bare), ("attended", attended), ("folder", folder)] {
        let [least, median] = least_and_median(times);
        writeln!(std::io::stderr(), "{what}: least {least:?}, median {median:?}").expect("a terminal");
    }
}

fn least_and_median(mut times: Vec<Duration>) -> [Duration; 2] {
    times.sort_unstable();
    [times[0], times[times.len() / 2]]
}
