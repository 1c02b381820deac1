# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'size.svg'
set label 1 'Energy per token against model size' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 35 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'energy per token, mJ' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 236.218 236.134 236.303 
1.1 439.576 433.775 445.454 
1.5 648.977 643.409 654.594 
3 1237.299 1234.866 1239.737 
7 2518.246 2511.679 2524.831 
9 3179.247 3177.808 3180.686 
14 4989.829 4944.562 5035.51 
EOD
$m0 << EOD
0.5 236.218 
1.1 439.576 
1.5 648.977 
3 1237.299 
7 2518.246 
9 3179.247 
14 4989.829 
EOD
$p1 << EOD
0.5 187.074 186.231 187.922 
1.1 288.846 285.25 292.487 
1.5 454.801 450.474 459.169 
3 822.309 815.306 829.373 
7 1526.794 1522.918 1530.679 
9 1879.708 1870.473 1888.988 
14 2963.321 2961.391 2965.252 
EOD
$m1 << EOD
0.5 187.074 
1.1 288.846 
1.5 454.801 
3 822.309 
7 1526.794 
9 1879.708 
14 2963.321 
EOD
$p2 << EOD
0.5 208.307 207.699 208.916 
1.1 304.452 301.366 307.569 
1.5 480.245 473.068 487.53 
3 832.167 825.217 839.175 
7 1664.29 1659.944 1668.646 
9 2070.457 2059.14 2081.836 
14 3174.55 3168.279 3180.833 
EOD
$m2 << EOD
0.5 208.307 
1.1 304.452 
1.5 480.245 
3 832.167 
7 1664.29 
9 2070.457 
14 3174.55 
EOD
$p3 << EOD
0.5 165.528 157.447 174.023 
1.1 227.498 226.123 228.882 
1.5 365.971 363.007 368.959 
3 639.304 634.018 644.634 
7 1231.638 1227.374 1235.918 
9 1487.287 1483.255 1491.33 
14 2306.833 2295.936 2317.781 
EOD
$m3 << EOD
0.5 165.528 
1.1 227.498 
1.5 365.971 
3 639.304 
7 1231.638 
9 1487.287 
14 2306.833 
EOD
$p4 << EOD
0.5 167.966 166.141 169.811 
1.1 222.285 220.955 223.623 
1.5 358.547 354.554 362.585 
3 616.383 610.062 622.77 
7 1145.509 1143.122 1147.901 
9 1380.656 1377.417 1383.902 
14 2155.187 2154.4 2155.975 
EOD
$m4 << EOD
0.5 167.966 
1.1 222.285 
1.5 358.547 
3 616.383 
7 1145.509 
9 1380.656 
14 2155.187 
EOD
$p5 << EOD
0.5 186.103 184.6 187.619 
1.1 288.917 286.853 290.996 
1.5 456.734 452.884 460.617 
3 812.98 812.14 813.82 
7 1515.34 1513.741 1516.94 
9 1873.354 1862.676 1884.093 
14 2937.322 2925.122 2949.574 
EOD
$m5 << EOD
0.5 186.103 
1.1 288.917 
1.5 456.734 
3 812.98 
7 1515.34 
9 1873.354 
14 2937.322 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '1.5' 1.5, '3' 3, '7' 7, '9' 9, '14' 14)
set xrange [0.4347826086956522:16.099999999999998]
set logscale y
set ytics (100, 200, 500, 1000, 2000, 5000)
set yrange [121.11307692307692:6546.1630000000005]
set bars 1.5
plot $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#0072B2' title 'FP16', \
  $m0 using 1:2 with lines lw 1 lc rgb '#0072B2' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m1 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m2 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m3 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m4 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p5 using 1:2:3:4 with yerrorbars pt 9 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m5 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle
