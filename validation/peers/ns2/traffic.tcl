# Traffic of many kinds over one bottleneck of ns-2 2.35, from a description:
#
#     ns traffic.tcl DESCRIPTION EVENTS SUMMARY
#
# The description is a list of the commands that this file defines, in this order:
#
#     bottleneck RATE DELAY QUEUE LIMIT [KEY VALUE]...
#     ftp TCP START                           an endless transfer
#     produce TCP START {PACKETS...} THINK    transfers over one connection, each THINK after the end of the last
#     anew TCP START PACKETS THINK            transfers, each over a new connection, without end
#     udp KIND START SEED {KEY VALUE...}      a source of packets without feedback; a SEED other than 0 is its own stream
#     end TIME
#
# Flow i, from 1, has hosts of its own: 100 Mb/s, 20 ms to the left, 20 ms to the right. PACKETS are data; ns-2
# sends its SYN on top (Vegas has none). The summary tells the order in which the senders draw the phases of their clocks.

remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set ns [new Simulator]
$ns rtproto Manual
set default_seed 7936
set flows 0
set left [$ns node]
set right [$ns node]

proc plain {from to rate delay} {
    global ns
    $ns simplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to 10000
}

proc bottleneck {rate delay queue limit args} {
    global ns left right argv events
    plain $right $left $rate $delay
    Queue/DropTail set queue_in_bytes_ false
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set setbit_ false
    Queue/RED set gentle_ false
    foreach {key value} $args { Queue/$queue set $key $value }
    $ns simplex-link $left $right $rate $delay $queue
    $ns queue-limit $left $right $limit
    set events [open [lindex $argv 1] w]
    fconfigure $events -buffersize 1000000
    $ns trace-queue $left $right $events
    # Arrivals at the far end are not used: leave them out of the trace.
    set link [$ns link $left $right]
    [$link set ttl_] target [[$link set rcvT_] target]
    route $left -default $right
    route $right -default $left
}

proc route {node args} { eval [list [$node get-module Manual] add-route-to-adj-node] $args }

proc hosts {} {
    global ns flows left right sender receiver
    incr flows
    set sender($flows) [$ns node]
    set receiver($flows) [$ns node]
    foreach {a b} [list $sender($flows) $left $right $receiver($flows)] {
        plain $a $b 100Mb 20ms
        plain $b $a 100Mb 20ms
    }
    route $sender($flows) -default $left
    route $receiver($flows) -default $right
    route $left $sender($flows)
    route $right $receiver($flows)
    return $flows
}

proc connection {tcp flow} {
    global ns sender receiver
    set agent [expr {$tcp eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$tcp]}]
    set sink [expr {$tcp eq "Sack1" ? [new Agent/TCPSink/Sack1] : [new Agent/TCPSink]}]
    foreach one [list $agent $sink] { $one set fid_ $flow }
    # ns-2 adds 40 bytes of header, but not for Vegas.
    $agent set packetSize_ [expr {$tcp eq "Vegas" ? 1000 : 960}]
    $agent set window_ 1000
    $ns attach-agent $sender($flow) $agent
    $ns attach-agent $receiver($flow) $sink
    $ns connect $agent $sink
    return $agent
}

proc ftp {tcp start} {
    global ns of_node sender
    set flow [hosts]
    set file [new Application/FTP]
    $file attach-agent [connection $tcp $flow]
    set of_node([$sender($flow) id]) $flow
    $ns at $start "$file start"
}

proc produce {tcp start packets think} {
    global ns of_node sender left_of think_of
    set flow [hosts]
    set agent [connection $tcp $flow]
    set of_node([$sender($flow) id]) $flow
    set left_of($agent) [lrange $packets 1 end]
    set think_of($agent) $think
    $ns at $start "$agent advanceby [lindex $packets 0]"
}

proc anew {tcp start packets think} {
    global ns of_node sender again
    set flow [hosts]
    set agent [connection $tcp $flow]
    set of_node([$sender($flow) id]) $flow
    set again($agent) [list $tcp $flow $packets $think]
    $ns at $start "$agent advanceby $packets"
}

# The last segment has been acknowledged.
Agent/TCP instproc done {} {
    global ns left_of think_of again
    if {[info exists left_of($self)] && [llength $left_of($self)] > 0} {
        set packets [lindex $left_of($self) 0]
        set left_of($self) [lrange $left_of($self) 1 end]
        $ns at [expr {[$ns now] + $think_of($self)}] "$self advanceby $packets"
    }
    if {[info exists again($self)]} {
        $ns at [expr {[$ns now] + [lindex $again($self) 3]}] "new_connection $again($self)"
    }
}

proc new_connection {tcp flow packets think} {
    global again
    set agent [connection $tcp $flow]
    set again($agent) [list $tcp $flow $packets $think]
    $agent advanceby $packets
}

proc udp {kind start seed settings} {
    global ns sender receiver
    set flow [hosts]
    set agent [new Agent/UDP]
    set sink [new Agent/Null]
    foreach one [list $agent $sink] { $one set fid_ $flow }
    $agent set packetSize_ 10000
    $ns attach-agent $sender($flow) $agent
    $ns attach-agent $receiver($flow) $sink
    $ns connect $agent $sink
    set source [new Application/Traffic/$kind]
    foreach {key value} $settings { $source set $key $value }
    if {$seed != 0} {
        set stream [new RNG]
        $stream seed $seed
        $source use-rng $stream
    }
    $source attach-agent $agent
    $ns at $start "$source start"
}

proc end {time} {
    global ns
    $ns at $time finish
}

proc finish {} {
    global ns events summary
    $ns flush-trace
    close $events
    close $summary
    exit 0
}

source [lindex $argv 0]

# `$ns run` resets the agents node by node; each TCP sender then draws the phase of its clock from the default stream.
set summary [open [lindex $argv 2] w]
$defaultRNG seed $default_seed
puts $summary "default_seed $default_seed"
foreach id [$ns array names Node_] {
    if {[info exists of_node($id)]} { puts $summary "boot $of_node($id) [$defaultRNG uniform 0 [Agent/TCP set tcpTick_]]" }
}
$defaultRNG seed $default_seed
$ns run
