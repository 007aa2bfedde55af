{ for (i = 1; i <= NF; i++) { seen[$i]++; pair[$(i - 1) " " $i]++ } }
END { for (word in seen) words += seen[word] > 5; for (two in pair) pairs += pair[two] > 1; print words, pairs }
