# Any network of ns-2 2.35, from a description:
#
#     ns networks.tcl DESCRIPTION SUMMARY
#
# The description is a list of the commands that this file defines, in this order:
#
#     node NAME
#     wire FROM TO RATE DELAY QUEUE LIMIT [KEY VALUE]...   one direction of a link
#     way NODE DESTINATION NEXT                            a route's next hop
#     watch FROM TO FILE                                   trace the queue of that link
#     lossy FROM TO PROBABILITY SEED                       lose packets that are about to enter it
#     transfer FROM TO TCP WIRE_BYTES WINDOW START TTL     an endless transfer; the first is flow 1
#     end TIME
#
# The summary tells the order in which the senders draw the phases of their clocks.

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns rtproto Manual
set summary [open [lindex $argv 1] w]
set default_seed 7936
set flows 0

proc node {name} {
    global ns nodes
    set nodes($name) [$ns node]
}

# A queue reads its class's variables when it is made.
proc wire {from to rate delay queue limit args} {
    global ns nodes
    Queue/DropTail set queue_in_bytes_ false
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set setbit_ false
    Queue/RED set gentle_ false
    foreach {key value} $args { Queue/$queue set $key $value }
    $ns simplex-link $nodes($from) $nodes($to) $rate $delay $queue
    $ns queue-limit $nodes($from) $nodes($to) $limit
}

proc way {node destination next} {
    global ns nodes
    set link [$ns link $nodes($node) $nodes($next)]
    [$nodes($node) get-module Manual] add-route [$nodes($destination) set address_] [$link head]
}

proc watch {from to file} {
    global ns nodes watched
    set watched($file) [open $file w]
    fconfigure $watched($file) -buffersize 1000000
    $ns trace-queue $nodes($from) $nodes($to) $watched($file)
    # Arrivals at the far end are not used: leave them out of the trace.
    set link [$ns link $nodes($from) $nodes($to)]
    [$link set ttl_] target [[$link set rcvT_] target]
}

proc lossy {from to probability seed} {
    global ns nodes
    set random [new RNG]
    $random seed $seed
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $random
    $uniform set min_ 0.0
    $uniform set max_ 1.0
    set loss [new ErrorModel]
    $loss unit pkt
    $loss set rate_ $probability
    $loss ranvar $uniform
    $loss drop-target [new Agent/Null]
    $ns lossmodel $loss $nodes($from) $nodes($to)
}

proc transfer {from to tcp wire_bytes window start ttl} {
    global ns nodes flows sender_of
    incr flows
    if {$tcp eq "Tahoe"} { set sender [new Agent/TCP] } else { set sender [new Agent/TCP/$tcp] }
    set sink [new Agent/TCPSink]
    $sender set packetSize_ [expr {$wire_bytes - 40}]
    $sender set window_ $window
    $sender set ttl_ $ttl
    $sink set ttl_ $ttl
    $sender set fid_ $flows
    $sink set fid_ $flows
    $ns attach-agent $nodes($from) $sender
    $ns attach-agent $nodes($to) $sink
    $ns connect $sender $sink
    set file [new Application/FTP]
    $file attach-agent $sender
    $ns at $start "$file start"
    lappend sender_of([$nodes($from) id]) $flows
}

proc end {time} {
    global ns
    $ns at $time finish
}

proc finish {} {
    global ns watched summary
    $ns flush-trace
    foreach file [array names watched] { close $watched($file) }
    close $summary
    exit 0
}

source [lindex $argv 0]

# `$ns run` resets the agents node by node; each TCP sender then draws the phase of its clock from the default stream.
# At one node the agents stand in a list from the last that was attached.
$defaultRNG seed $default_seed
puts $summary "default_seed $default_seed"
foreach id [$ns array names Node_] {
    if {[info exists sender_of($id)]} {
        foreach agent [[$ns set Node_($id)] set agents_] {
            if {[catch {$agent set tcpTick_} tick]} continue
            if {[string match "Agent/TCPSink*" [$agent info class]]} continue
            puts $summary "boot [$agent set fid_] [$defaultRNG uniform 0 $tick]"
        }
    }
}
$defaultRNG seed $default_seed
$ns run
