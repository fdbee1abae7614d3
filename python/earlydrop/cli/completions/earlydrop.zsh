#compdef earlydrop

_cyclopts_earlydrop() {
  local line state

  _arguments -C \
    '--help[Display this message and exit.]' \
    '-h[Display this message and exit.]' \
    '--version[Display application version.]' \
    '1: :->cmds' \
    '*::arg:->args'

  case $state in
    cmds)
      local -a commands
      commands=(
        'list:List disciplines, markers, parents, TCPs, stacks, topologies, traffic and studi…'
        'init:A commented scenario to start from\: written to NAME.toml, or printed when no na…'
        'check:Check a scenario, a sweep, a study, or a discipline of one'\''s own (mine.py, libm…'
        'new-aqm:Write a small project for a discipline of your own\: the discipline, its test, a…'
        'test-aqm:Try a discipline of your own on the properties that the catalogue'\''s hold; exit …'
        'show:A discipline\: parameters, drop curve, documentation; a TCP stack; or a scenario…'
        'play:Open the playground, where the simulator runs in a browser. Ctrl-C ends it.'
        'run:Run a scenario once.'
        'compare:Run a scenario with several disciplines and the same seeds, and compare them.'
        'sweep:Run a scenario at many points, on all cores or a cluster. Stored runs are not r…'
        'tune:Search for better parameters of a discipline than the scenario'\''s own, and confi…'
        'diff:Show differences between two results of a sweep, or of two sweeps. Differences …'
        'trace:Run a scenario and write the events of a queue in ns-2'\''s trace format or as pca…'
        'completion:The script that completes earlydrop'\''s commands, options and values in a shell.'
        'advise:Recommend a queue for a home'\''s line\: a ranking by latency under load, pictures,…'
        'report:Write the report of a result folder, or write it again\: one HTML file that open…'
        'store:Inspect, verify and clean up a store of runs.'
        'reproduce:Run a paper'\''s experiments, judge its claims, write the report. Stored runs are …'
        'validate:Check agreement with ns-2, case by case.'
        'vectors:Print, write or check decision vectors\: recorded decisions against which other …'
        'bench:Measure speed and memory on the reference cases.'
        'link:Run a command behind an emulated link with any queue discipline, in each direct…'
        'crosscheck:Run a scenario in the simulator and on a real link under the kernel'\''s TCP, and …'
      )
      _describe -t commands 'command' commands
      ;;
    args)
      case $words[1] in
        list)
          _arguments \
            "1:aqms, markers, parents, tcps, stacks, topologies, traffic or studies; everythin…:(aqms markers parents tcps stacks topologies traffic studies)" \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        init)
          _arguments \
            '1:Name of the scenario and of its file.' \
            '*--topology[Kind of its network (default\: dumbbell); earlydrop list topologies names them a…]:topology:(dumbbell parking_lot star sfred nlred bus flower two_flow random graph)' \
            '*--paper[Take the scenario of a paper'\''s study instead, such as tred.]:paper:(aqm-qos ddred dialects floadautored league misprints nlred rfc7928 sfred sweeps tred)' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        check)
          _arguments \
            '1:A scenario file.:{_alternative "names:name:(aqm-qos ddred dialects floadautored league misprints nlred rfc7928 sfred sweeps tred)" "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        new-aqm)
          case ${words[CURRENT]} in
            --language=*)
              compset -P '--language='
              compadd -- 'python' 'c' 'rust'
              return
              ;;
            --folder=*)
              compset -P '--folder='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Of the discipline\: a-z, 0-9 and _.' \
            "*--language[What it is written in.]:language:(python c rust)" \
            '*--folder[A new folder (default\: NAME).]:folder:_files' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        test-aqm)
          _arguments \
            '1:mine.py, mine.py\:MyRed, libmine.so, or a name of earlydrop.toml.' \
            '*--packets[Packets of the long run.]:packets' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        show)
          case ${words[CURRENT]} in
            --plot=*)
              compset -P '--plot='
              _files
              return
              ;;
            --picture=*)
              compset -P '--picture='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Name of the discipline or stack, as earlydrop list prints it, a file with a dis…:{_alternative "names:name:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio ns2-2.35 rfc linux-6.18 quic)" "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--plot[Also plot the drop curve to this file (.png, .pdf or .svg).]:plot:_files' \
            '*--picture[Draw a scenario'\''s network to this file (.png, .pdf or .svg).]:picture:_files' \
            '*--against[Show how a TCP stack differs from this one.]:against:(ns2-2.35 rfc linux-6.18 quic)' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        play)
          _arguments \
            '1:A scenario file to open.:_files' \
            '*--port[Port on this machine (default\: any free one).]:port' \
            '--browser[Open a browser, or only print the address.]' \
            '--no-browser[Open a browser, or only print the address.]' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        run)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --format=*)
              compset -P '--format='
              compadd -- 'folder' 'flent'
              return
              ;;
          esac
          _arguments \
            '1:A scenario file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--seed[Seed of the run (default\: the scenario'\''s).]:seed' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '*--out[Write results, tables and figures to this folder.]:out:_files' \
            "*--format[What --out names\: a folder, or a data file for Flent (NAME.flent.gz).]:format:(folder flent)" \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        compare)
          case ${words[CURRENT]} in
            --plot=*)
              compset -P '--plot='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A scenario file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--aqm[Disciplines, as red \"codel target=5ms\" mine.py\:MyRed; the first is the control.]:aqm:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)' \
            '*--seeds[Runs of each discipline (default\: 10).]:seeds' \
            '*--until[Run seeds until the half-widths of goodput and queueing delay are under this, a…]:until' \
            '*--most[With --until\: largest number of seeds.]:most' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '*--plot[Draw means and intervals to this file (.png, .pdf or .svg).]:plot:_files' \
            '*--out[Write results, tables and figures to this folder.]:out:_files' \
            '*--workers[Number of threads (default\: one per core).]:workers' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        sweep)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --style=*)
              compset -P '--style='
              compadd -- 'paper' 'slides'
              return
              ;;
          esac
          _arguments \
            '1:A sweep'\''s file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--out[Folder for tables and report (default\: out/NAME).]:out:_files' \
            '*--store[Folder or address where runs are stored (default\: store beside the results).]:store' \
            '*--workers[Number of threads (default\: one per core).]:workers' \
            '*--cluster[Workers\: a Dask scheduler'\''s address (tcp\://host\:8786), local, slurm, pbs or kub…]:cluster' \
            '--plan[Check, make the first few runs, print the estimated cost, stop.]' \
            '*--plot[A figure\: \"queue_delay vs rtt by aqm\", \"box goodput by aqm\", \"cdf delay by aqm\"…]:plot' \
            '*--figures[Formats of the figures in DIR/figures\: pdf, svg, png (default\: pdf,png).]:figures' \
            "*--style[Sizes and fonts of the figures\: journal columns, or slides.]:style:(paper slides)" \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        tune)
          case ${words[CURRENT]} in
            --sensitivity=*)
              compset -P '--sensitivity='
              compadd -- 'morris' 'sobol'
              return
              ;;
          esac
          _arguments \
            '1:A scenario file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--aqm[The discipline whose parameters are searched.]:aqm:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)' \
            '*--objective[Measures to improve.]:objective' \
            '*--trials[Number of parameter sets to try.]:trials' \
            '*--param[A parameter and its range\: NAME=LOW..HIGH. May be repeated.]:param' \
            '*--seeds[Runs of each parameter set.]:seeds' \
            '*--confirm[New seeds on which the best parameter set is confirmed.]:confirm' \
            "*--sensitivity[Analyse which parameters matter instead of searching; --trials is the sample si…]:sensitivity:(morris sobol)" \
            '*--seed[Seed of the search.]:seed' \
            '*--store[Folder or address where runs are stored.]:store' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '*--workers[Number of threads (default\: one per core).]:workers' \
            '*--cluster[Workers\: a Dask scheduler'\''s address (tcp\://host\:8786), local, slurm, pbs or kub…]:cluster' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        diff)
          _arguments \
            '1:A folder that sweep wrote.:_files' \
            '2:Another one.:_files' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        trace)
          _arguments \
            '1:A scenario file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '2:File to write\: .tr for ns-2'\''s format, .pcap for pcap.:_files' \
            '*--queue[The queue (default\: the first). For pcap may be repeated, e.g. for both directi…]:queue' \
            '*--events[Largest number of events, counted from the start of the run.]:events' \
            '*--seed[Seed of the run (default\: the scenario'\''s).]:seed' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        completion)
          _arguments \
            "1:bash, zsh or fish.:(bash zsh fish)" \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        advise)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '*--down[Rate of the line towards you, as 50mbit; required.]:down' \
            '*--up[Rate of the line from you, as 10mbit; required.]:up' \
            '*--rtt[Round-trip time without queueing, or its range, as 20..80ms.]:rtt' \
            '*--link[Kind of line\: docsis, adsl, vdsl, fiber, lte.]:link' \
            '*--buffer[What the modem holds, as 250ms or 100 packets.]:buffer' \
            '*--aqm[Disciplines to choose from.]:aqm:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)' \
            '*--seeds[Runs of each queue.]:seeds' \
            '*--out[Folder for page, pictures and configuration.]:out:_files' \
            '*--store[Folder or address where runs are stored (default\: store beside the results).]:store' \
            '*--workers[Number of threads (default\: one per core).]:workers' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        report)
          case ${words[CURRENT]} in
            --style=*)
              compset -P '--style='
              compadd -- 'paper' 'slides'
              return
              ;;
          esac
          _arguments \
            '1:A folder that sweep, advise, run --out, compare --out or link --out wrote.:_files' \
            '*--plot[A figure\: \"queue_delay vs rtt by aqm\", \"box goodput by aqm\", \"cdf delay by aqm\"…]:plot' \
            '*--figures[Formats of the figures in DIR/figures\: pdf, svg, png (default\: pdf,png).]:figures' \
            "*--style[Sizes and fonts of the figures\: journal columns, or slides.]:style:(paper slides)" \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        store)
          _arguments -C \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]' \
            '1: :->cmds' \
            '*::arg:->args'

          case $state in
            cmds)
              local -a commands
              commands=(
                'ls:Show the parts of a store, and its runs by engine and discipline.'
                'verify:Verify every part of a store; exit code 1 if a run is lost, changed or duplicat…'
                'gc:Clean up a store\: remove partial files of interrupted writers, and merge small …'
                'export:Write all runs as one table, sorted by scenario and seed; its bytes do not depe…'
              )
              _describe -t commands 'command' commands
              ;;
            args)
              case $words[1] in
                ls)
                  _arguments \
                    '1:A store'\''s folder or address.' \
                    '--json[Print one JSON document on stdout.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                verify)
                  _arguments \
                    '1:A store'\''s folder or address.' \
                    '--json[Print one JSON document on stdout.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                gc)
                  _arguments \
                    '1:A store'\''s folder or address.' \
                    '--old[Also remove the runs of other versions of the engine.]' \
                    '--json[Print one JSON document on stdout.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
                export)
                  _arguments \
                    '1:A store'\''s folder or address.' \
                    '2:File to write\: .parquet, or .csv (without lists).:_files' \
                    '*--columns[Only these columns (default\: all).]:columns' \
                    '--json[Print one JSON document on stdout.]' \
                    '--help[Display this message and exit.]' \
                    '-h[Display this message and exit.]' \
                    '--version[Display application version.]'

                  ;;
              esac
              ;;
          esac
          ;;
        reproduce)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '1:Name of a study, as earlydrop list studies prints it, a study'\''s folder, or all.:{_alternative "names:name:(aqm-qos ddred dialects floadautored league misprints nlred rfc7928 sfred sweeps tred)" "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--seeds[Seeds for each cell (default\: the study'\''s).]:seeds' \
            '--quick[Fewer levels and seeds, shorter runs\: a first look, not a result.]' \
            '*--assume[Another value for an assumption\: NAME=VALUE. May be repeated.]:assume' \
            '*--aqm[Disciplines, in a study where they can be chosen, or all; or one of your own, a…]:aqm:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)' \
            '*--out[Folder for report and figures (default\: out/STUDY).]:out:_files' \
            '*--store[Folder or address where runs are stored (default\: store beside the results).]:store' \
            '*--workers[Number of threads (default\: one per core).]:workers' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        validate)
          _arguments \
            '*--case[Only these cases.]:case' \
            '*--seeds[Seeds for each case. \[default\: as many as ns-2'\''s, 10 to 40\]]:seeds' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        vectors)
          case ${words[CURRENT]} in
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
            --check=*)
              compset -P '--check='
              _files
              return
              ;;
          esac
          _arguments \
            '*:Disciplines, parents, markers; default\: all.:{_alternative "names:name:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)" "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--aqm[Disciplines, parents, markers; default\: all.]:aqm:(droptail drop_front drop_random ddtail red gentle_red nlred tred dsred hred mred feng_red ared linux_ared pd_red autored autoredwithred fred sred choke lru_red red_pd sfb aecn sfred ddred fautoredwithred floadautored blue rem pi avq gk pid yellow aifo codel pie pi2 cobalt step ecn_sharp fq fq_pacing sfq drr wrr fq_codel fq_pie fq_cobalt cake dualpi2 hhf prio afq sp_pifo wred rio)' \
            '*--out[Write NAME.jsonl.gz for each into this folder.]:out:_files' \
            '*--check[Compare the files in this folder with current decisions.]:check:_files' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        bench)
          case ${words[CURRENT]} in
            --against=*)
              compset -P '--against='
              compadd -- 'ns2' 'ns3' 'htsim' 'bare'
              return
              ;;
            --htsim=*)
              compset -P '--htsim='
              _files
              return
              ;;
          esac
          _arguments \
            "*--against[Run the same cases in these tools too.]:against:(ns2 ns3 htsim bare)" \
            '*--case[Cases (default\: A, B, C).]:case' \
            '*--htsim[A checkout of csg-htsim, to build that tool from.]:htsim:_files' \
            '*--runs[Runs of each case; the median counts.]:runs' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        link)
          case ${words[CURRENT]} in
            --trace=*)
              compset -P '--trace='
              _files
              return
              ;;
            --reverse-trace=*)
              compset -P '--reverse-trace='
              _files
              return
              ;;
            --sim=*)
              compset -P '--sim='
              _files
              return
              ;;
            --out=*)
              compset -P '--out='
              _files
              return
              ;;
          esac
          _arguments \
            '*:What to run behind the link, after --.' \
            '*--rate[Rate, such as 20Mbit/s, or unlimited.]:rate' \
            '*--delay[Propagation delay in each direction (default\: 0 ms).]:delay' \
            '*--queue[Queue in each direction\: \"red limit=120p min_th=20 ...\" (default\: droptail).]:queue' \
            '*--loss[Random loss probability of a packet on the link, in each direction.]:loss' \
            '*--trace[Rate over time\: a trace in Mahimahi'\''s format.]:trace:_files' \
            '*--reverse-rate[Another rate for what COMMAND receives.]:reverse-rate' \
            '*--reverse-delay[Another delay for what COMMAND receives.]:reverse-delay' \
            '*--reverse-queue[Another queue for what COMMAND receives.]:reverse-queue' \
            '*--reverse-trace[Another trace for what COMMAND receives.]:reverse-trace:_files' \
            '*--sim[Take rate, delay and queues from this scenario instead.]:sim:_files' \
            '*--at[With --sim\: what COMMAND sends passes this queue (default\: bottleneck, at the s…]:at' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '*--seed[Seed of the queues'\'' random numbers (default\: 1, or the scenario'\''s).]:seed' \
            '*--between[Without COMMAND\: two named namespaces to join, or dev\:NAME for TUN devices.]:between' \
            '*--mtu[Largest packet, bytes.]:mtu' \
            '*--sysctl[Sysctl behind the link\: net.ipv4.tcp_ecn=1. May be repeated.]:sysctl' \
            '--nat[Let COMMAND reach what this machine reaches (address translation).]' \
            '*--user[Run COMMAND as this user (default\: the caller).]:user' \
            '--realtime[Real-time priority for the link\: departures on time under load.]' \
            '--live[Show queue, drops and flows while it runs.]' \
            '--log[With --out\: record every arrival and its outcome in log.parquet.]' \
            '--verify[Replay every arrival in the simulator and compare the decisions.]' \
            '--quiet[Print no summary.]' \
            '*--out[Write results, tables and figures to this folder.]:out:_files' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
        crosscheck)
          case ${words[CURRENT]} in
            --cells=*)
              compset -P '--cells='
              compadd -- 'seen' 'unseen'
              return
              ;;
            --stored=*)
              compset -P '--stored='
              _files
              return
              ;;
            --write=*)
              compset -P '--write='
              _files
              return
              ;;
            --page=*)
              compset -P '--page='
              _files
              return
              ;;
            --flent=*)
              compset -P '--flent='
              _files
              return
              ;;
          esac
          _arguments \
            '1:A scenario file.:{_alternative "files:file:_files -g \"*.toml(-.) *(-/)\""}' \
            '*--set[Set a value of the scenario\: PATH=VALUE. May be repeated.]:set:(duration= warmup= seed= topology.kind= topology.pairs= topology.senders.rate= topology.senders.delay.uniform= topology.receivers.rate= topology.receivers.delay= topology.bottleneck.rate= topology.bottleneck.delay= topology.reverse.rate= topology.reverse.delay= queue.bottleneck.aqm= queue.bottleneck.limit= queue.bottleneck.ecn= queue.bottleneck.target= queue.bottleneck.interval= queue.bottleneck.dialect= queue.bottleneck.max_packet= queue.bottleneck.invsqrt= queue.bottleneck.ce_threshold= queue.bottleneck.l4s= queue.bottleneck.queues= queue.bottleneck.classify= queue.bottleneck.quantum= queue.bottleneck.drop_batch= queue.bottleneck.batch_rule= queue.bottleneck.memory_limit= queue.bottleneck.ce_threshold_selector= queue.bottleneck.ce_threshold_mask= queue.reverse.aqm= queue.reverse.limit= queue.reverse.ecn= queue.reverse.target= queue.reverse.interval= queue.reverse.dialect= queue.reverse.max_packet= queue.reverse.invsqrt= queue.reverse.ce_threshold= queue.reverse.l4s= queue.reverse.queues= queue.reverse.classify= queue.reverse.quantum= queue.reverse.drop_batch= queue.reverse.batch_rule= queue.reverse.memory_limit= queue.reverse.ce_threshold_selector= queue.reverse.ce_threshold_mask= traffic.0.kind= traffic.0.count= traffic.0.tcp= traffic.0.stack= traffic.0.segment= traffic.0.start.uniform= traffic.1.kind= traffic.1.name= traffic.1.count= traffic.1.direction= traffic.1.tcp= traffic.1.stack= traffic.1.segment= traffic.1.start.uniform=)' \
            '*--at[Queue of the emulated link (default\: bottleneck).]:at' \
            '*--seeds[Runs of the simulator (default\: 5; of a cell or a Flent run 10).]:seeds' \
            '--realtime[Real-time priority for the link.]' \
            '*--grid[Instead of a scenario\: the cells of the grid that match this regular expression.]:grid' \
            "*--cells[With --grid\: those that rules were found with, or those that none was found wit…]:cells:(seen unseen)" \
            '*--jobs[With --grid\: links that run concurrently.]:jobs' \
            '*--runs[With --grid\: links for each cell, with the seeds from 1 on.]:runs' \
            '*--stored[With --grid\: read the links'\'' results from this CSV instead of running links.]:stored:_files' \
            '*--write[With --grid\: write the links'\'' results to this CSV; what was interrupted goes on.]:write:_files' \
            '*--page[With --grid\: write the tables into this Markdown page.]:page:_files' \
            '*--jitter[With --grid\: longest extra delay on the simulator'\''s link, such as '\''0.1 ms'\''.]:jitter' \
            '*--flent[Instead of a scenario\: a recorded Flent run (NAME.flent.gz), with --rate and --…]:flent:_files' \
            '*--rate[With --flent\: rate of the bottleneck, of downloads.]:rate' \
            '*--queue[With --flent\: queue of downloads, such as '\''fq_codel'\'' or '\''pie limit=1000p'\''.]:queue' \
            '*--up-rate[With --flent\: rate of uploads (default\: --rate).]:up-rate' \
            '*--up-queue[With --flent\: queue of uploads (default\: --queue).]:up-queue' \
            '*--rtt[With --flent\: round-trip time without load (default\: the least idle ping).]:rtt' \
            '*--tcp[With --flent\: reno, cubic or bbr (default\: as the file says, else cubic).]:tcp' \
            '--trust[Run the code that files name as disciplines\: it has your rights.]' \
            '--json[Print one JSON document on stdout.]' \
            '--help[Display this message and exit.]' \
            '-h[Display this message and exit.]' \
            '--version[Display application version.]'

          ;;
      esac
      ;;
  esac
}


