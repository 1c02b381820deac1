# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'size.svg'
set label 1 'Energy per token against model size' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, 2 cards, engine native, weights synthetic, protocol paired, batch 1, 20 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'energy per token, mJ' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 234.77 234.116 235.426 
1.1 431.194 430.326 432.065 
1.5 641.214 638.912 643.524 
3 1236.525 1235.29 1237.762 
7 2507.986 2500.052 2515.946 
9 3158.895 3143.917 3173.944 
14 4966.002 4925.417 5006.922 
EOD
$m0 << EOD
0.5 234.77 
1.1 431.194 
1.5 641.214 
3 1236.525 
7 2507.986 
9 3158.895 
14 4966.002 
EOD
$p1 << EOD
0.5 162.794 159.278 166.389 
1.1 225.091 224.786 225.396 
1.5 361.158 359.704 362.618 
3 631.713 624.254 639.261 
7 1210.112 1205.596 1214.644 
9 1479.472 1477.36 1481.587 
14 2296.437 2289.394 2303.501 
EOD
$m1 << EOD
0.5 162.794 
1.1 225.091 
1.5 361.158 
3 631.713 
7 1210.112 
9 1479.472 
14 2296.437 
EOD
$p2 << EOD
0.5 165.549 164.673 166.43 
1.1 219.981 219.154 220.811 
7 1137.49 1134.089 1140.901 
EOD
$m2 << EOD
0.5 165.549 
1.1 219.981 
7 1137.49 
EOD
$p3 << EOD
0.5 183.827 180.314 187.409 
1.1 284.087 283.261 284.915 
1.5 451.644 451.108 452.18 
3 807.849 806.325 809.375 
7 1510.434 1505.123 1515.763 
9 1874.946 1861.101 1888.894 
14 2919.01 2902.309 2935.807 
EOD
$m3 << EOD
0.5 183.827 
1.1 284.087 
1.5 451.644 
3 807.849 
7 1510.434 
9 1874.946 
14 2919.01 
EOD
$p4 << EOD
1.1 281.694 281.105 282.283 
EOD
$m4 << EOD
1.1 281.694 
EOD
$p5 << EOD
1.1 300.181 300.069 300.293 
EOD
$m5 << EOD
1.1 300.181 
EOD
$p6 << EOD
1.1 249.66 248.799 250.523 
EOD
$m6 << EOD
1.1 249.66 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '1.5' 1.5, '3' 3, '7' 7, '9' 9, '14' 14)
set xrange [0.4347826086956522:16.099999999999998]
set logscale y
set ytics (100, 200, 500, 1000, 2000, 5000)
set yrange [122.52153846153846:6508.9986]
set bars 1.5
plot $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#0072B2' title 'FP16', \
  $m0 using 1:2 with lines lw 1 lc rgb '#0072B2' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m1 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m2 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m3 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m4 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p5 using 1:2:3:4 with yerrorbars pt 9 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m5 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p6 using 1:2:3:4 with yerrorbars pt 10 ps 0.9 lw 1.5 lc rgb '#CC79A7' title 'NF4-DQ', \
  $m6 using 1:2 with lines lw 1 lc rgb '#CC79A7' notitle
