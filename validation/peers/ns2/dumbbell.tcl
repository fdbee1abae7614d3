# One bottleneck between two routers, n TCP senders on the left and their
# receivers on the right, for ns-2 2.35:
#
#     ns dumbbell.tcl [-KEY VALUE]...
#
# Keys and defaults are the array `opt` below. Rates and delays are in ns-2's
# notation (5Mb, 20ms). `sender_delay`, a list that is gone through in turn,
# replaces `access_delay` on the senders' side; `tcp` is such a list too. Only
# the queue from the left to the right router can drop; every other queue holds
# `plain_limit` packets, more than ever arrive.

array set opt {
    flows 6            tcp Reno          wire_bytes 1000      window 1000
    ecn 0              delayed_ack 0     limited_transmit 1
    access_rate 5Mb    access_delay 20ms  sender_delay ""
    rate 5Mb           delay 10ms
    queue DropTail     limit 120         min_th 24  max_th 72  max_p 0.1  w_q 0.002
    gentle false       mean_packet 1000  q_ref 50
    seed 1             start_jitter 1    start_stagger 0
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
    add-packet-header IP TCP Flags
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

if {$opt(sender_delay) eq ""} { set opt(sender_delay) $opt(access_delay) }
set left [$ns node]
set right [$ns node]
set senders {}
set receivers {}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    set turn [expr {$i % [llength $opt(sender_delay)]}]
    plain_duplex $sender $left $opt(access_rate) [lindex $opt(sender_delay) $turn]
    plain_duplex $right $receiver $opt(access_rate) $opt(access_delay)
    lappend senders $sender
    lappend receivers $receiver
}
$ns simplex-link $right $left $opt(rate) $opt(delay) DropTail
$ns queue-limit $right $left $opt(plain_limit)

# Set after the plain links exist, so that only the bottleneck reads these.
Queue/DropTail set queue_in_bytes_ false
Queue/DropTail set mean_pktsize_ $opt(mean_packet)
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ $opt(mean_packet)
Queue/RED set gentle_ $opt(gentle)
Queue/RED set setbit_ [expr {$opt(ecn) ? {true} : {false}}]
Queue/RED set thresh_ $opt(min_th)
Queue/RED set maxthresh_ $opt(max_th)
Queue/RED set linterm_ [expr {1.0 / $opt(max_p)}]
Queue/RED set q_weight_ $opt(w_q)
Queue/REM set mean_pktsize_ $opt(mean_packet)
Queue/PI set mean_pktsize_ $opt(mean_packet)
Queue/PI set qref_ $opt(q_ref)
$ns simplex-link $left $right $opt(rate) $opt(delay) $opt(queue)
$ns queue-limit $left $right $opt(limit)
set bottleneck [[$ns link $left $right] queue]

proc route {node args} { eval [list [$node get-module Manual] add-route-to-adj-node] $args }
route $left -default $right
route $right -default $left
foreach sender $senders receiver $receivers {
    route $sender -default $left
    route $receiver -default $right
    route $left $sender
    route $right $receiver
}

if {$opt(count)} { set monitor [$ns monitor-queue $left $right ""] }
if {$opt(events) ne ""} {
    set events_file [open $opt(events) w]
    fconfigure $events_file -buffersize 1000000
    $ns trace-queue $left $right $events_file
    # Arrivals at the far end are not used: leave them out of the trace.
    set link [$ns link $left $right]
    [$link set ttl_] target [[$link set rcvT_] target]
}

# ---- traffic --------------------------------------------------------------
set tcps {}
set starts {}
for {set i 0} {$i < $opt(flows)} {incr i} {
    set kind [lindex $opt(tcp) [expr {$i % [llength $opt(tcp)]}]]
    set tcp [expr {$kind eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$kind]}]
    set sink_kind Agent/TCPSink
    if {$kind eq "Sack1"} { append sink_kind /Sack1 }
    if {$opt(delayed_ack)} { append sink_kind /DelAck }
    set sink [new $sink_kind]
    # ns-2 adds 40 bytes of header to packetSize_, but not for Vegas.
    $tcp set packetSize_ [expr {$opt(wire_bytes) - ($kind eq "Vegas" ? 0 : 40)}]
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
    $ns at $start "$ftp start"
    lappend tcps $tcp
    lappend starts $start
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
    global tcps report average_sum average_samples
    set acks {}
    foreach tcp $tcps { lappend acks [$tcp set ack_] }
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
