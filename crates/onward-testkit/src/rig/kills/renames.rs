//! The project is renamed under its drivers.

use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use super::{CODES, MOVED, POST_MAX, Rig, STEP, STOP_MAX};
use crate::rig::book::read_book;
use crate::rig::patience::{Patience, is_given_up};

impl Rig<'_> {
    /// Moves the project away, lets its drivers notice that, and moves it back. What works meanwhile goes on; its outcome is to be
    /// there afterwards. Nothing is renamed before the outputs are there on which all else depends, since those are written by path.
    pub(super) fn rename_the_project(&mut self) {
        let book = read_book(&self.project.root().join("rig/ledger"));
        let listed =
            |run: &String| book.iter().any(|line| line.what == "end" && line.phase == "list" && line.run == *run);
        let begun = self.lanes.iter().all(|lane| lane.run.as_ref().is_some_and(listed));
        // Whoever posts from outside has the old path.
        let mut patience = Patience::new(POST_MAX);
        while begun && !self.posts.is_empty() && !patience.is_over() {
            self.look_after_posts();
            sleep(STEP);
        }
        if !begun || !self.posts.is_empty() || self.lanes.iter().all(|lane| lane.driver.is_none()) {
            return;
        }
        let (here, away) = (self.project.dir(), self.project.root().join("away"));
        if std::fs::rename(&here, &away).is_err() {
            return self.fault("the project cannot be renamed".to_owned());
        }
        *self.told.hits.entry("renamed under drivers".to_owned()).or_default() += 1;
        self.tell("the project is renamed");
        let (since, mut patience) = (Instant::now(), Patience::new(STOP_MAX));
        while self.lanes.iter().any(|lane| lane.driver.is_some()) && !patience.is_over() && !is_given_up() {
            for at in 0..self.lanes.len() {
                let Some(work) = &mut self.lanes[at].driver else { continue };
                let Some(code) = work.running.ended() else { continue };
                let err = work.running.err();
                self.lanes[at].driver = None;
                let after = since.elapsed();
                self.told.longest_until_noticed = self.told.longest_until_noticed.max(after);
                let name = &self.lanes[at].name;
                self.tell(&format!("driver of {name} ended with {code}, {} ms after the renaming", after.as_millis()));
                // One that had only just begun finds its plan, or one that is used by it, gone and has started nothing.
                let gone = err.contains("error[plan-unreadable]") || err.contains("which cannot be read");
                let not_begun = code == i32::from(onward_core::exit::USAGE) && gone;
                if code != MOVED && !CODES.contains(&code) && !not_begun {
                    self.fault(format!(
                        "a driver whose project was renamed ended with {code}: {}",
                        crate::ran::tail(&err)
                    ));
                }
            }
            sleep(STEP);
        }
        for work in self.lanes.iter().filter_map(|lane| lane.driver.as_ref()) {
            let pid = work.running.pid();
            // The place at which it stands says more than that it does.
            let at = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let stand = format!("driver {pid} stands at {} {}", at("wchan"), at("syscall"));
            self.told.tale.push(stand);
        }
        if self.lanes.iter().any(|lane| lane.driver.is_some()) {
            self.fault("a driver does not notice that its project was renamed".to_owned());
        }
        // A git that was writing a ref by its path makes the folders above it anew. Nothing else may be there.
        let left =
            |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        if left(&here).all(|name| name == ".git") && left(&here.join(".git")).all(|name| name == "refs") {
            let _ = std::fs::remove_dir_all(&here);
        }
        if std::fs::rename(&away, &here).is_err() {
            self.fault("the project cannot be renamed back: something is in its place".to_owned());
        }
        self.tell("the project is back");
    }
}
