# 查询平台支持的训练框架
client.describe_training_frameworks()

# 查询计算资源配置
client.describe_postpaid_training_price()

# 创建训练任务
from jupyter_pai.sdk.tikit import models

# 配置训练任务的计算框架和训练模式，此处选择训练框架为torch1.9-py3.8-cuda11.1-gpu，训练模式为DDP
framework = models.FrameworkInfo.new_system_framework("PYTORCH", "torch1.9-py3.8-cuda11.1-gpu", "DDP")
# 配置计算资源，此处配置为V100节点*2
worker_resource = models.ResourceConfigInfo.new_postpaid("TI.GN10.2XLARGE40.POST", 2)

# 配置数据输入信息，需要将COS中的训练数据映射到容器目录中
# 'demo-1256580188/notebook-demo-classification/data'是第一步数据上传的cos路径，
# '/opt/ml/input/data/image_classify'是步骤2.3中指定的数据读取路径，也就是容器本地路径（代码中读取）

input_data = models.TrainingDataConfig.new_cos_data({"demo-1256580188/notebook-demo-classification/data/":"/opt/ml/input/data/image_classify"})

# 创建训练任务
client.create_training_task("xxx5", # 任务名称
                            framework, # 训练框架
                            "demo-1256580188/output/", # 训练输出路径
                            worker_resource, # 资源配置信息
                            input_data_config=input_data, # 数据输入配置
                            code_package_path="demo-1256580188/notebook-demo-classification/code/", # 训练代码所在路径
                            worker_start_cmd="sh start_cloud.sh") # 启动命令
