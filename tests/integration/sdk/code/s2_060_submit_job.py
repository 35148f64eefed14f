from jupyter_pai.sdk.estimator import Estimator

est = Estimator(
    # 在启动命令中引用环境变量 PAI_USER_ARGS
    # 最终的启动命令为: python train.py --batch_size 32 --learning_rate 0.01 --training_method lora
    command="python train.py $PAI_USER_ARGS",
    image_uri="<TrainingImageUir>",
    instance_type="ecs.c6.xlarge",
    hyperparameters={
        "batch_size": 32,
        "learning_rate": 0.01,
        "training_method": "lora"
    },
    source_dir="argparse_src",
)
est.fit()
