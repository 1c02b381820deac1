# Made by ecocompute. In this folder, gnuplot -d and this file make the picture again.
set encoding utf8
set terminal svg size 1008,640 font 'DejaVu Sans,14' noenhanced background rgb 'white'
set output 'roofline.svg'
set label 1 'Distance from the memory roofline' at screen 0.5,0.96 center noenhanced font ',17'
set label 2 'NVIDIA H200, engine native, weights synthetic, protocol paired, 6 results; whiskers: smallest and largest of several runs' at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'
set tmargin at screen 0.87
set xlabel '' noenhanced
set ylabel 'share of the probed read bandwidth, %' noenhanced
set grid ytics lt 1 lc rgb '#dddddd' lw 1
set border 3
set tics nomirror
set key outside right top noenhanced
$p0 << EOD
0 47.03 47.03 47.03 
2 65.91 65.91 65.91 
5 87.56 87.56 87.56 
EOD
$p1 << EOD
1 25.169999999999998 25.169999999999998 25.169999999999998 
3 33.15 33.15 33.15 
6 61.82 61.82 61.82 
EOD
$p2 << EOD
4 33.11 33.11 33.11 
7 65.63 65.63 65.63 
EOD
$p3 << EOD
8 78.60000000000001 78.60000000000001 78.60000000000001 
EOD
set lmargin at screen 0.13
set xtics rotate by 45 right ('Qwen2-0.5B FP16, batch 1' 0, 'Qwen2-0.5B NF4, batch 1' 1, 'TinyLlama-1.1B FP16, batch 1' 2, 'TinyLlama-1.1B NF4, batch 1' 3, 'TinyLlama-1.1B Q4_0, batch 1' 4, 'Qwen2-7B FP16, batch 1' 5, 'Qwen2-7B NF4, batch 1' 6, 'Qwen2-7B Q4_0, batch 1' 7, 'Qwen2-7B W8A16, batch 1' 8) noenhanced
set xrange [-0.7:8.7]
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
  $p3 using 1:4:(sprintf('%.0f', $2)) with labels offset 0,0.6 notitle
