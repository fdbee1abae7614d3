# A fixed list of arrivals through one ns-2 queue; its state after each of them:
#
#     ns open_loop.tcl ARRIVALS OUTPUT CLASS SEED LIMIT [VARIABLE VALUE]...
#
# ARRIVALS has rows i,time_s,bytes below a heading. CLASS is RED, REM, PI, Vq (AVQ)
# or DropTail, the variables are those bound in Queue/CLASS. ns-2 writes doubles with 6 digits;
# preload full_precision.c for all 17.

set tcl_precision 17
lassign $argv arrivals output class seed limit
set ns [new Simulator]
$defaultRNG seed $seed
foreach {variable value} [lrange $argv 5 end] { Queue/$class set $variable $value }

set from [$ns node]
set to [$ns node]
$ns simplex-link $from $to 1.5Mb 10ms $class
$ns queue-limit $from $to $limit
set queue [[$ns link $from $to] queue]
set monitor [$ns monitor-queue $from $to ""]
set source [new Agent/UDP]
$source set packetSize_ 100000
set sink [new Agent/Null]
$ns attach-agent $from $source
$ns attach-agent $to $sink
$ns connect $source $sink

set states [dict get {RED {ave_ prob1_ curq_ cur_max_p_} REM prob_ PI prob_ Vq {} DropTail {}} $class]
set out [open $output w]
set dropped_before 0
proc arrive {i bytes} {
    global source queue monitor states out dropped_before
    $source send $bytes
    set row $i
    foreach state $states { lappend row [$queue set $state] }
    set dropped [$monitor set pdrops_]
    lappend row [expr {$dropped - $dropped_before}] [$monitor set pkts_]
    set dropped_before $dropped
    puts $out [join $row ,]
}
set rows [open $arrivals]
gets $rows
while {[gets $rows row] >= 0} {
    lassign [split $row ,] i time bytes
    $ns at $time "arrive $i $bytes"
}
$ns at [expr {$time + 5}] "close $out; exit 0"
$ns run
