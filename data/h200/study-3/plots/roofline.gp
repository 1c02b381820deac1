# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1668,640 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'roofline.svg'
set label 1 'Distance from the memory roofline' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, 2 cards, engine native, weights synthetic, protocol paired, 20 results; whiskers: smallest and largest of several runs' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel '' noenhanced
set ylabel 'share of the probed read bandwidth, %' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0 47.91 47.910000000000004 47.910000000000004 
4 67.92 67.92 67.92 
11 68.61 68.61 68.61 
14 76.69 76.69 76.69 
17 86.88 86.88 86.88 
21 83.34 83.34 83.34 
24 86.56 86.56 86.56 
EOD
$p1 << EOD
1 25.779999999999998 25.779999999999998 25.779999999999998 
8 33.76 33.76 33.76 
12 38.51 38.51 38.51 
15 45.410000000000004 45.410000000000004 45.410000000000004 
18 60.51 60.51 60.51 
22 53.94 53.94 53.94 
25 60.29 60.29 60.29 
EOD
$p2 << EOD
2 24.81 24.81 24.81 
9 34.22 34.22 34.22 
19 64.39 64.39 64.39 
EOD
$p3 << EOD
3 34.79 34.79 34.79 
10 52.54 52.54 52.54 
13 53.37 53.37 53.37 
16 64.59 64.59 64.59 
20 77.61 77.61 77.61 
23 72.3 72.3 72.3 
26 77.75999999999999 77.75999999999999 77.75999999999999 
EOD
$p4 << EOD
5 52.16 52.16 52.16 
EOD
$p5 << EOD
6 44.03 44.03 44.03 
EOD
$p6 << EOD
7 25.11 25.11 25.11 
EOD
set lmargin at screen 0.13
set xtics rotate by 45 right ('Qwen2-0.5B FP16, batch 1' 0, 'Qwen2-0.5B NF4, batch 1' 1, 'Qwen2-0.5B Q4_0, batch 1' 2, 'Qwen2-0.5B W8A16, batch 1' 3, 'TinyLlama-1.1B FP16, batch 1' 4, 'TinyLlama-1.1B FP8, batch 1' 5, 'TinyLlama-1.1B INT8, batch 1' 6, 'TinyLlama-1.1B NF4-DQ, batch 1' 7, 'TinyLlama-1.1B NF4, batch 1' 8, 'TinyLlama-1.1B Q4_0, batch 1' 9, 'TinyLlama-1.1B W8A16, batch 1' 10, 'Qwen2-1.5B FP16, batch 1' 11, 'Qwen2-1.5B NF4, batch 1' 12, 'Qwen2-1.5B W8A16, batch 1' 13, 'Qwen2.5-3B FP16, batch 1' 14, 'Qwen2.5-3B NF4, batch 1' 15, 'Qwen2.5-3B W8A16, batch 1' 16, 'Qwen2-7B FP16, batch 1' 17, 'Qwen2-7B NF4, batch 1' 18, 'Qwen2-7B Q4_0, batch 1' 19, 'Qwen2-7B W8A16, batch 1' 20, 'Yi-1.5-9B FP16, batch 1' 21, 'Yi-1.5-9B NF4, batch 1' 22, 'Yi-1.5-9B W8A16, batch 1' 23, 'Qwen2.5-14B FP16, batch 1' 24, 'Qwen2.5-14B NF4, batch 1' 25, 'Qwen2.5-14B W8A16, batch 1' 26) noenhanced
set xrange [-0.7:26.7]
set yrange [0:100]
set boxwidth 0.75
set style fill solid 0.85 noborder
set bars 1.5
plot $p0 using 1:2 with boxes fc rgb '#0072B2' title 'FP16', \
  $p0 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p0 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p1 using 1:2 with boxes fc rgb '#009E73' title 'NF4', \
  $p1 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p1 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p2 using 1:2 with boxes fc rgb '#333333' title 'Q4_0', \
  $p2 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p2 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p3 using 1:2 with boxes fc rgb '#56B4E9' title 'W8A16', \
  $p3 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p3 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p4 using 1:2 with boxes fc rgb '#6A51A3' title 'FP8', \
  $p4 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p4 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p5 using 1:2 with boxes fc rgb '#E69F00' title 'INT8', \
  $p5 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p5 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle, \
  $p6 using 1:2 with boxes fc rgb '#CC79A7' title 'NF4-DQ', \
  $p6 using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' notitle, \
  $p6 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle
