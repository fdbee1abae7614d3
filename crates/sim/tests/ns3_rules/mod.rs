//! Options of ns-3's TCPs, as keys of a scenario's traffic.

/// Those of NewReno without SACK.
macro_rules! no_sack {
    () => {
        "tcp = 'newreno'\navoidance = 'per_ack'\nssthresh = 'pipe'\nbackoff_until = 'ack'\n\
         rules = { timeout_end = 'new', slow_start_end = 'beyond', exit_ack = 'grows', guesses = 'kept', \
         recovery_again = 'at_end', rtt_sample = 'first' }\n"
    };
}

/// Those of BBR, to be continued. The SYN's timeout is 1 s on both sides.
macro_rules! bbr {
    () => {
        "tcp = 'bbr'\nrack = false\nbackoff_until = 'ack'\n\
         rules = { syn_sample = 'always', rtt_sample = 'first', reported_repair = 'counts', bbr_rate = 'full', bbr_room = 'quanta', \
         bbr_exit = 'drain', bbr_repairs = 'cut', bbr_timeout = 'forgets', bbr_timeout_losses = 'free', bbr_conservation = 'rest', \
         bbr_rounds = 'valid', bbr_excess = 'coarse', bbr_rtt = 'smoothed', bbr_first_rtt = 'handshake', bbr_first_rate = 'window', \
         bbr_round_start = 'lasts', bbr_rates = 'three', bbr_probing = 'repairs', bbr_repair_pace = 'at_once', \
         bbr_recovery_end = 'at_once', bbr_startup_exit = 'unlimited', bbr_timeout_window = 'grows', \
         bbr_empty_start = 'restarts', idle_restart = 'initial', bbr_probe_rtt = 'counts', idle_timer = 'runs', rto_restart = 'first', bbr_partial_ack = 'sends', \
         recovery_start = 'second'"
    };
}

/// The options of one of ns-3's TCPs; `docs/tcp-rfc.md` describes each.
pub fn rules(tcp: &str) -> &'static str {
    match tcp {
        "reno" => {
            "tcp = 'reno'\navoidance = 'per_ack'\nssthresh = 'pipe'\nbackoff_until = 'ack'\nprr = 'repair_ack'\n\
             rules = { timeout_end = 'new', slow_start_end = 'beyond', exit_ack = 'grows', prr_part = 'bytes', \
             reported_repair = 'counts', recovery_start = 'second' }\n"
        }
        "newreno" => concat!("limited_transmit = false\n", no_sack!()),
        // With limited transmit.
        "newreno_lt" => no_sack!(),
        "cubic" => {
            "tcp = 'cubic'\nrack = false\nhystart = false\nabc_limit = 1000\nssthresh = 'cwnd'\nbackoff_until = 'ack'\n\
             prr = 'repair_ack'\nrules = { cubic_least = 'none', cubic_growth = 'whole', cubic_mark = 'two', timeout_cut = 'again', timeout_end = 'new', \
             slow_start_end = 'beyond', exit_ack = 'grows', prr_part = 'bytes', \
             reported_repair = 'counts', recovery_start = 'second' }\n"
        }
        "dctcp" => {
            "tcp = 'dctcp'\nrack = false\navoidance = 'kept'\nbackoff_until = 'ack'\nprr = 'slow_start'\n\
             rules = { mark_cut = 'round_trip', dctcp_least = 'none' }\n"
        }
        "bbr" => concat!(bbr!(), ", bbr_samples = 'held' }\n"),
        // With Linux's rate samples on both sides.
        "bbr_fresh" => concat!(bbr!(), " }\n"),
        other => panic!("no tcp {other:?}"),
    }
}
