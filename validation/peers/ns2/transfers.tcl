# Finite transfers over a network whose routers all run RED or DropTail, for ns-2 2.35:
#
#     ns transfers.tcl DESCRIPTION DROPS TIMES
#
# The description is a list of the commands that this file defines, in this order:
#
#     routers QUEUE LIMIT [KEY VALUE]...      the queue at every output of a router
#     core NAME NAME RATE DELAY               a link between two routers
#     access HOST ROUTER RATE DELAY           a workstation and its link; its own queue never drops
#     send FROM TO TCP WIRE_BYTES WINDOW START BYTES
#     end TIME                                at the latest; the run ends when all transfers are complete
#
# DROPS gets a line for each packet dropped (ns-2's trace format), TIMES a line `flow start end` for each transfer:
# from the start to the acknowledgement of the last segment.

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
set drops [open [lindex $argv 1] w]
set times [open [lindex $argv 2] w]
set flows 0
set open 0

proc node {name} {
    global ns nodes
    if {![info exists nodes($name)]} { set nodes($name) [$ns node] }
    return $nodes($name)
}

proc routers {kind limit_ args} {
    global queue limit settings
    set queue $kind
    set limit $limit_
    set settings $args
}

proc output {from to rate delay kind room} {
    global ns drops
    $ns simplex-link $from $to $rate $delay $kind
    $ns queue-limit $from $to $room
    set link [$ns link $from $to]
    set trace [$ns create-trace Drop $drops $from $to]
    $trace target [[$link set drophead_] target]
    [$link set drophead_] target $trace
}

proc choose {} {
    global queue settings
    Queue/DropTail set queue_in_bytes_ false
    foreach {key value} $settings { Queue/$queue set $key $value }
}

proc core {a b rate delay} {
    global queue limit
    choose
    output [node $a] [node $b] $rate $delay $queue $limit
    output [node $b] [node $a] $rate $delay $queue $limit
}

proc access {host router rate delay} {
    global queue limit
    choose
    output [node $router] [node $host] $rate $delay $queue $limit
    Queue/DropTail set queue_in_bytes_ false
    output [node $host] [node $router] $rate $delay DropTail 1000000
}

proc send {from to tcp wire_bytes window start bytes} {
    global ns nodes flows open started
    incr flows
    incr open
    set sender [new Agent/TCP/$tcp]
    set sink [new Agent/TCPSink]
    $sender set packetSize_ [expr {$wire_bytes - 40}]
    $sender set window_ $window
    $sender set fid_ $flows
    $sink set fid_ $flows
    $ns attach-agent $nodes($from) $sender
    $ns attach-agent $nodes($to) $sink
    $ns connect $sender $sink
    set file [new Application/FTP]
    $file attach-agent $sender
    set started($flows) $start
    $ns at $start "$file send $bytes"
}

Agent/TCP instproc done {} {
    global ns times started open
    set flow [$self set fid_]
    puts $times "$flow $started($flow) [$ns now]"
    incr open -1
    if {$open == 0} { finish }
}

proc end {time} {
    global ns
    $ns at $time finish
}

proc finish {} {
    global ns drops times
    $ns flush-trace
    close $drops
    close $times
    exit 0
}

source [lindex $argv 0]
$ns run
