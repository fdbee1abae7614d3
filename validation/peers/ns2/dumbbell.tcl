# One bottleneck between two routers, n TCP senders on the left and their
# receivers on the right, for ns-2 2.35:
#
#     ns dumbbell.tcl [-KEY VALUE]...
#
# Keys and defaults are the array `opt` below. Rates and delays are in ns-2's
# notation (5Mb, 20ms). `sender_delay`, a list that is gone through in turn,
# replaces `access_delay` on the senders' side; `tcp` and `wire_bytes` are such
# lists too, `receiver_rate` and `receiver_delay` do the same on the other side.
# `starts` lists start times, in the place of those that are drawn. `byte_scaling`
# is RED's second byte switch, `bytes_`; left out it goes with `byte_mode`. `tick`
# and `min_rto` are the senders' `tcpTick_` and `minrto_`.
# `cbr` lists flows of constant rate: {BYTES INTERVAL SENDER_DELAY}. With
# `two_flows 1` the network is the DDRED paper's: flow 1 comes to the right
# router over the left one, flow 2 directly, and both end at one host, whose
# link is the bottleneck. Only the bottleneck's queue can drop; every other
# holds `plain_limit` packets, more than ever arrive.

array set opt {
    flows 6            tcp Reno          wire_bytes 1000      window 1000
    ecn 0              delayed_ack 0     limited_transmit 1
    access_rate 5Mb    access_delay 20ms  sender_delay ""
    receiver_rate ""   receiver_delay ""  cbr {}           two_flows 0
    rate 5Mb           delay 10ms
    queue DropTail     limit 120         min_th 24  max_th 72  max_p 0.1  w_q 0.002
    gentle false       mean_packet 1000  q_ref 50          byte_mode 0      automatic 0
    byte_scaling ""    wait true         adaptive 0        use_mark_p true
    min_rto 0.2        tick 0.01
    seed 1             start_jitter 1    start_stagger 0   starts ""
    duration 200       warmup 50         plain_limit 10000
    lean_headers 1     statistics 1       count 0
    events ""          variables ""      summary ""
}
foreach {key value} $argv {
    set name [string range $key 1 end]
    if {[string index $key 0] ne "-" || ![info exists opt($name)]} {
        puts stderr "dumbbell.tcl: unknown key $key"
        exit 2
    }
    set opt($name) $value
}

# ---- simulator ------------------------------------------------------------
if {$opt(lean_headers)} {
    # A packet then carries the headers this run reads and no others.
    remove-all-packet-headers
    add-packet-header IP TCP Flags RTP
}
set ns [new Simulator]
# The default routing computes all pairs of nodes; here every route is known.
$ns rtproto Manual

# ---- random numbers -------------------------------------------------------
# The default stream feeds the queue and the phase of each TCP clock; start times
# come from a stream of their own. The first draws of a seeded stream are
# nearly equal for neighbouring seeds and are thrown away.
set default_seed [expr {7919 * $opt(seed) + 17}]
$defaultRNG seed $default_seed
set start_rng [new RNG]
$start_rng seed [expr {104729 * $opt(seed) + 29}]
for {set i 0} {$i < 100} {incr i} {
    $defaultRNG uniform 0 1
    $start_rng uniform 0 1
}

# ---- topology -------------------------------------------------------------
proc plain_duplex {a b rate delay} {
    global ns opt
    foreach {from to} [list $a $b $b $a] {
        $ns simplex-link $from $to $rate $delay DropTail
        $ns queue-limit $from $to $opt(plain_limit)
    }
}

proc in_turn {list i} { lindex $list [expr {$i % [llength $list]}] }
foreach {key default} {
    sender_delay access_delay  receiver_rate access_rate  receiver_delay access_delay
} {
    if {$opt($key) eq ""} { set opt($key) $opt($default) }
}
set left [$ns node]
set right [$ns node]
set senders {}
set receivers {}
if {$opt(two_flows)} {
    set senders [list [$ns node] [$ns node]]
    set host [$ns node]
    set receivers [list $host $host]
    plain_duplex [lindex $senders 0] $left $opt(access_rate) $opt(access_delay)
    plain_duplex $left $right $opt(access_rate) $opt(delay)
    plain_duplex [lindex $senders 1] $right $opt(access_rate) $opt(delay)
    set near $right
    set far $host
} else {
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set sender [$ns node]
        set receiver [$ns node]
        plain_duplex $sender $left $opt(access_rate) [in_turn $opt(sender_delay) $i]
        plain_duplex $right $receiver $opt(receiver_rate) [in_turn $opt(receiver_delay) $i]
        lappend senders $sender
        lappend receivers $receiver
    }
    foreach flow $opt(cbr) {
        set sender [$ns node]
        set receiver [$ns node]
        plain_duplex $sender $left $opt(access_rate) [lindex $flow 2]
        plain_duplex $right $receiver $opt(receiver_rate) [in_turn $opt(receiver_delay) 0]
        lappend senders $sender
        lappend receivers $receiver
    }
    set near $left
    set far $right
}
$ns simplex-link $far $near $opt(rate) $opt(delay) DropTail
$ns queue-limit $far $near $opt(plain_limit)

# Set after the plain links exist, so that only the bottleneck reads these.
set in_bytes [expr {$opt(byte_mode) ? {true} : {false}}]
Queue/DropTail set queue_in_bytes_ $in_bytes
Queue/DropTail set mean_pktsize_ $opt(mean_packet)
if {$opt(byte_scaling) eq ""} { set opt(byte_scaling) $opt(byte_mode) }
Queue/RED set bytes_ [expr {$opt(byte_scaling) ? {true} : {false}}]
Queue/RED set queue_in_bytes_ $in_bytes
Queue/RED set mean_pktsize_ $opt(mean_packet)
Queue/RED set gentle_ $opt(gentle)
Queue/RED set wait_ $opt(wait)
Queue/RED set adaptive_ $opt(adaptive)
Queue/RED set use_mark_p_ $opt(use_mark_p)
Queue/RED set setbit_ [expr {$opt(ecn) ? {true} : {false}}]
if {!$opt(automatic)} {
    Queue/RED set thresh_ $opt(min_th)
    Queue/RED set maxthresh_ $opt(max_th)
    Queue/RED set linterm_ [expr {1.0 / $opt(max_p)}]
    Queue/RED set q_weight_ $opt(w_q)
}
Queue/REM set qib_ $in_bytes
Queue/REM set mean_pktsize_ $opt(mean_packet)
Queue/PI set mean_pktsize_ $opt(mean_packet)
Queue/PI set qref_ $opt(q_ref)
Queue/GK set mean_pktsize_ $opt(mean_packet)
$ns simplex-link $near $far $opt(rate) $opt(delay) $opt(queue)
$ns queue-limit $near $far $opt(limit)
set bottleneck [[$ns link $near $far] queue]

proc route {node args} { eval [list [$node get-module Manual] add-route-to-adj-node] $args }
if {$opt(two_flows)} {
    route [lindex $senders 0] -default $left
    route [lindex $senders 1] -default $right
    route $host -default $right
    route $left [lindex $senders 0]
    route $left -default $right
    route $right $host
    route $right [lindex $senders 1]
    route $right -default $left
} else {
    route $left -default $right
    route $right -default $left
    foreach sender $senders receiver $receivers {
        route $sender -default $left
        route $receiver -default $right
        route $left $sender
        route $right $receiver
    }
}

if {$opt(count)} { set monitor [$ns monitor-queue $near $far ""] }
if {$opt(events) ne ""} {
    set events_file [open $opt(events) w]
    fconfigure $events_file -buffersize 1000000
    $ns trace-queue $near $far $events_file
    # Arrivals at the far end are not used: leave them out of the trace.
    set link [$ns link $near $far]
    [$link set ttl_] target [[$link set rcvT_] target]
}

# ---- traffic --------------------------------------------------------------
Agent/TCP set tcpTick_ $opt(tick)
Agent/TCP set minrto_ $opt(min_rto)
set tcps {}
set starts {}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set kind [in_turn $opt(tcp) $i]
    set tcp [expr {$kind eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$kind]}]
    set sink_kind Agent/TCPSink
    if {$kind eq "Sack1"} { append sink_kind /Sack1 }
    if {$opt(delayed_ack)} { append sink_kind /DelAck }
    set sink [new $sink_kind]
    # ns-2 adds 40 bytes of header to packetSize_, but not for Vegas.
    $tcp set packetSize_ [expr {[in_turn $opt(wire_bytes) $i] - ($kind eq "Vegas" ? 0 : 40)}]
    $tcp set window_ $opt(window)
    $tcp set ecn_ $opt(ecn)
    $tcp set singledup_ $opt(limited_transmit)
    $tcp set fid_ [expr {$i + 1}]
    $sink set fid_ [expr {$i + 1}]
    $ns attach-agent [lindex $senders $i] $tcp
    $ns attach-agent [lindex $receivers $i] $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    set start [expr {$opt(start_stagger) * $i}]
    if {$opt(start_jitter) > 0} {
        set start [expr {$start + [$start_rng uniform 0 $opt(start_jitter)]}]
    }
    if {$opt(starts) ne ""} { set start [in_turn $opt(starts) $i] }
    $ns at $start "$ftp start"
    lappend tcps $tcp
    lappend starts $start
}
set monitors {}
foreach flow $opt(cbr) {
    set i [expr {$opt(flows) + [llength $monitors]}]
    set source [new Agent/UDP]
    # Larger than any packet, so that none is split.
    $source set packetSize_ 2000
    $source set fid_ [expr {$i + 1}]
    set sink [new Agent/LossMonitor]
    $ns attach-agent [lindex $senders $i] $source
    $ns attach-agent [lindex $receivers $i] $sink
    $ns connect $source $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ [lindex $flow 0]
    $cbr set interval_ [lindex $flow 1]
    $cbr set random_ 0
    $cbr attach-agent $source
    set start 0
    if {$opt(start_jitter) > 0} { set start [$start_rng uniform 0 $opt(start_jitter)] }
    $ns at $start "$cbr start"
    lappend monitors $sink
}

if {$opt(variables) ne ""} {
    set variables_file [open $opt(variables) w]
    set first [lindex $tcps 0]
    $first attach $variables_file
    foreach name {cwnd_ ssthresh_ ack_ dupacks_ backoff_ srtt_ rttvar_} { $first trace $name }
}

# ---- measurement ----------------------------------------------------------
# Reading variables moves no packet and draws no random number.
set average_sum 0.0
set average_samples 0
proc sample_average {} {
    global ns bottleneck average_sum average_samples
    set average_sum [expr {$average_sum + [$bottleneck set ave_]}]
    incr average_samples
    $ns after 0.01 sample_average
}
set report {}
proc note_window {start} {
    global tcps monitors report average_sum average_samples
    set acks {}
    foreach tcp $tcps { lappend acks [$tcp set ack_] }
    # Of a constant rate the bytes received, in place of the acknowledged segment.
    foreach monitor $monitors { lappend acks [$monitor set bytes_] }
    lappend report "window $start $average_sum $average_samples $acks"
}
if {$opt(statistics)} {
    $ns at 0 "note_window 0"
    if {$opt(warmup) > 0} { $ns at $opt(warmup) "note_window $opt(warmup)" }
    if {$opt(queue) eq "RED"} { $ns at 0 sample_average }
}

proc finish {} {
    global ns opt tcps starts report monitor events_file variables_file default_seed
    # The number of the next event is the number of events scheduled so far.
    set scheduled [$ns after 0.000001 ""]
    note_window end
    if {$opt(summary) ne ""} {
        set out [open $opt(summary) w]
        foreach line $report { puts $out $line }
        puts $out "scheduled $scheduled"
        puts $out "default_seed $default_seed"
        puts $out "starts $starts"
        set retransmits 0
        foreach tcp $tcps { incr retransmits [$tcp set nrexmitpack_] }
        puts $out "retransmits $retransmits"
        if {[file readable /proc/self/status]} {
            set status [open /proc/self/status]
            if {[regexp {VmHWM:\s+(\d+)} [read $status] all peak_kb]} { puts $out "peak_kb $peak_kb" }
            close $status
        }
        if {[info exists monitor]} {
            puts $out "arrivals [$monitor set parrivals_]"
            puts $out "drops [$monitor set pdrops_]"
        }
        close $out
    }
    if {[info exists variables_file]} { close $variables_file }
    if {[info exists events_file]} { $ns flush-trace; close $events_file }
    exit 0
}
$ns at $opt(duration) finish

if {$opt(variables) ne ""} {
    # `$ns run` resets every agent, and each TCP then draws the phase of its
    # clock, U(0, tick), from the default stream in the order of ns-2's table of
    # nodes. Reseed, foretell these draws, and seed again: the run's own draws
    # are then these n phases and after them RED's.
    $defaultRNG seed $default_seed
    array set flow_of {}
    for {set i 0} {$i < $opt(flows)} {incr i} { set flow_of([[lindex $senders $i] id]) $i }
    foreach id [$ns array names Node_] {
        if {[info exists flow_of($id)]} {
            lappend report "boot $flow_of($id) [$defaultRNG uniform 0 [Agent/TCP set tcpTick_]]"
        }
    }
    $defaultRNG seed $default_seed
}
$ns run
