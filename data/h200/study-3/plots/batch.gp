# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'batch.svg'
set label 1 'Energy per token against batch' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, 2 cards, engine native, weights synthetic, protocol paired, 16 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'sequences decoded together (batch)' noenhanced
set ylabel 'energy per token, mJ' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
1 2507.986 2500.052 2515.946 
4 728.814 724.473 733.181 
16 202.015 200.95 203.086 
64 77.726 77.126 78.33 
EOD
$m0 << EOD
1 2507.986 
4 728.814 
16 202.015 
64 77.726 
EOD
$p1 << EOD
1 1210.112 1205.596 1214.644 
4 466.842 464.677 469.017 
16 134.256 133.574 134.941 
64 73.433 73.072 73.796 
EOD
$m1 << EOD
1 1210.112 
4 466.842 
16 134.256 
64 73.433 
EOD
$p2 << EOD
1 1510.434 1505.123 1515.763 
4 478.068 474.231 481.935 
16 135.003 134.498 135.51 
64 60.198 60.063 60.333 
EOD
$m2 << EOD
1 1510.434 
4 478.068 
16 135.003 
64 60.198 
EOD
$p3 << EOD
1 431.194 430.326 432.065 
4 148.002 147.189 148.82 
16 42.403 42.363 42.442 
64 16.112 15.957 16.27 
EOD
$m3 << EOD
1 431.194 
4 148.002 
16 42.403 
64 16.112 
EOD
$p4 << EOD
1 225.091 224.786 225.396 
4 102.381 101.012 103.769 
16 29.679 29.584 29.774 
64 17.41 17.324 17.497 
EOD
$m4 << EOD
1 225.091 
4 102.381 
16 29.679 
64 17.41 
EOD
$p5 << EOD
1 284.087 283.261 284.915 
4 103.413 102.779 104.051 
16 29.692 29.463 29.923 
64 13.78 13.682 13.879 
EOD
$m5 << EOD
1 284.087 
4 103.413 
16 29.692 
64 13.78 
EOD
set logscale x
set xtics ('1' 1, '4' 4, '16' 16, '64' 64)
set xrange [0.8695652173913044:73.6]
set logscale y
set ytics (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
set yrange [10.524615384615384:3270.7298]
set bars 1.5
plot $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#0072B2' title 'Qwen2-7B FP16', \
  $m0 using 1:2 with lines lw 1 lc rgb '#0072B2' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#D55E00' title 'Qwen2-7B NF4', \
  $m1 using 1:2 with lines lw 1 lc rgb '#D55E00' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#009E73' title 'Qwen2-7B W8A16', \
  $m2 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#CC79A7' title 'TinyLlama-1.1B FP16', \
  $m3 using 1:2 with lines lw 1 lc rgb '#CC79A7' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'TinyLlama-1.1B NF4', \
  $m4 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p5 using 1:2:3:4 with yerrorbars pt 9 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'TinyLlama-1.1B W8A16', \
  $m5 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle
