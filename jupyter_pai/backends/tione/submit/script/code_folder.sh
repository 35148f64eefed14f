# Shows code and hyperparameters at the places of the platform, too: code that was written for it may name them. Where
# /opt/ml/code cannot be replaced, each file is linked.
if mv /opt/ml/code /opt/ml/.code 2>/dev/null; then
  ln -s "$PWD" /opt/ml/code
else
  for pai_file in * .[!.]*; do
    [ ! -e "$pai_file" ] || ln -sfn "$PWD/$pai_file" "/opt/ml/code/$pai_file"
  done 2>/dev/null
fi
[ -e /opt/ml/input/config ] || ln -s "$pai_ml/input/config" /opt/ml/input/config 2>/dev/null
