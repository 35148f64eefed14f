import json
import os

# 超参文件存储路径
hp_path = "/ml/input/config/hyperparameters.json"
# 也可以通过环境变量的方式获取到超参路径
# hp_path = os.path.join(os.environ.get("PAI_CONFIG_DIR"), "hyperparameters.json")

# 读取超参信息
with open(hp_path, "r") as f:
    hps = json.load(f)
print(hps)
