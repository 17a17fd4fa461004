//! The store from outside: the contract on every backend, and what disks, kills and other users do to it.

mod chains;
mod child;
mod conformance;
mod damage;
mod durations;
mod flush;
mod folder;
mod full;
mod golden;
mod head;
mod kill;
mod kit;
mod newer;
mod race;
mod read_only;
mod sequence;
mod speed;
mod values;
