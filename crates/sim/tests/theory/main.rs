//! Results against queueing theory and hand computation.

mod end_to_end;
mod policy_timer;
mod queues;
mod rates;
