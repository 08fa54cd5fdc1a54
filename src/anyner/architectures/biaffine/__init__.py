"""Biaffine span classifier (Yu et al. 2020): every span scored at once for every label; the baseline for the others."""
