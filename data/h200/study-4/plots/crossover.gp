# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1000,580 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'crossover.svg'
set label 1 'Change of energy per token against FP16' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, batch 1, 35 results; bars: 95 % interval of repetition' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel 'parameters, billions (as the model is labelled)' noenhanced
set ylabel 'change, % (below 0 the format saves)' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0.5 -20.804 -21.137 -20.471 
1.1 -34.29 -34.394 -34.186 
1.5 -29.92 -30.053 -29.788 
3 -33.54 -34.176 -32.898 
7 -39.371 -39.642 -39.098 
9 -40.876 -41.193 -40.557 
14 -40.613 -41.114 -40.107 
EOD
$m0 << EOD
0.5 -20.804 
1.1 -34.29 
1.5 -29.92 
3 -33.54 
7 -39.371 
9 -40.876 
14 -40.613 
EOD
$p1 << EOD
0.5 -11.816 -12.067 -11.564 
1.1 -30.74 -31.742 -29.722 
1.5 -26 -26.585 -25.409 
3 -32.743 -33.435 -32.044 
7 -33.911 -34.035 -33.786 
9 -34.876 -35.249 -34.501 
14 -36.38 -37.052 -35.7 
EOD
$m1 << EOD
0.5 -11.816 
1.1 -30.74 
1.5 -26 
3 -32.743 
7 -33.911 
9 -34.876 
14 -36.38 
EOD
$p2 << EOD
0.5 -29.926 -33.33 -26.348 
1.1 -48.246 -48.781 -47.705 
1.5 -43.608 -43.984 -43.23 
3 -48.331 -48.789 -47.868 
7 -51.091 -51.366 -50.815 
9 -53.219 -53.359 -53.078 
14 -53.769 -54.318 -53.214 
EOD
$m2 << EOD
0.5 -29.926 
1.1 -48.246 
1.5 -43.608 
3 -48.331 
7 -51.091 
9 -53.219 
14 -53.769 
EOD
$p3 << EOD
0.5 -28.894 -29.644 -28.135 
1.1 -49.432 -50.06 -48.796 
1.5 -44.752 -45.347 -44.15 
3 -50.183 -50.782 -49.577 
7 -54.512 -54.62 -54.403 
9 -56.573 -56.66 -56.486 
14 -56.808 -57.199 -56.414 
EOD
$m3 << EOD
0.5 -28.894 
1.1 -49.432 
1.5 -44.752 
3 -50.183 
7 -54.512 
9 -56.573 
14 -56.808 
EOD
$p4 << EOD
0.5 -21.215 -21.878 -20.548 
1.1 -34.274 -34.846 -33.696 
1.5 -29.622 -29.839 -29.406 
3 -34.294 -34.373 -34.215 
7 -39.826 -40.005 -39.645 
9 -41.076 -41.425 -40.724 
14 -41.134 -41.907 -40.35 
EOD
$m4 << EOD
0.5 -21.215 
1.1 -34.274 
1.5 -29.622 
3 -34.294 
7 -39.826 
9 -41.076 
14 -41.134 
EOD
set logscale x
set xtics ('0.5' 0.5, '1.1' 1.1, '1.5' 1.5, '3' 3, '7' 7, '9' 9, '14' 14)
set xrange [0.4347826086956522:16.099999999999998]
set offsets 0,0,graph 0.06,graph 0.06
set bars 1.5
plot 0 with lines lw 1.5 lc rgb '#888888' notitle, \
  $p0 using 1:2:3:4 with yerrorbars pt 4 ps 0.9 lw 1.5 lc rgb '#6A51A3' title 'FP8', \
  $m0 using 1:2 with lines lw 1 lc rgb '#6A51A3' notitle, \
  $p1 using 1:2:3:4 with yerrorbars pt 5 ps 0.9 lw 1.5 lc rgb '#E69F00' title 'INT8', \
  $m1 using 1:2 with lines lw 1 lc rgb '#E69F00' notitle, \
  $p2 using 1:2:3:4 with yerrorbars pt 6 ps 0.9 lw 1.5 lc rgb '#009E73' title 'NF4', \
  $m2 using 1:2 with lines lw 1 lc rgb '#009E73' notitle, \
  $p3 using 1:2:3:4 with yerrorbars pt 7 ps 0.9 lw 1.5 lc rgb '#333333' title 'Q4_0', \
  $m3 using 1:2 with lines lw 1 lc rgb '#333333' notitle, \
  $p4 using 1:2:3:4 with yerrorbars pt 8 ps 0.9 lw 1.5 lc rgb '#56B4E9' title 'W8A16', \
  $m4 using 1:2 with lines lw 1 lc rgb '#56B4E9' notitle
