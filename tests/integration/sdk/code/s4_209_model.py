# 查看推理镜像。（运行查看最新版本信息）
client.describe_system_reasoning_images()

# 指定模型推理框架
reasoning_env = models.ReasoningEnvironment.new_system_environment("torch1.9.0-py38-cu111")
# 模型输出路径,即/model文件目录，为用户在训练任务配置的模型输出路径+task_id，如下output/train-544168070598700544/所示
model_output_path = models.CosPathInfo("demo-1256580188", "output/train-544168070598700544/", "ap-guangzhou")
# 创建模型，这里训练任务ID就是上面创建的训练任务ID
client.create_model_by_task("model1", "train-544168070598700544", reasoning_env, model_output_path, "PYTORCH")
