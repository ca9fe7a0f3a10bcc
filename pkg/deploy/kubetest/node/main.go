// Node does for the test cluster what a real one has add-ons for: it answers for the
// names of Services, and makes a folder of this machine into a volume for every claim.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	listen := flag.String("listen", "10.88.0.1:53", "address on which names are asked for")
	volumes := flag.String("volumes", "", "folder for the folders that become volumes")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	flag.Parse()
	if err := run(context.Background(), *kubeconfig, *listen, *volumes); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig, listen, folder string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := announce(ctx, client, listen); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 10*time.Second)
	names := names{services: factory.Core().V1().Services().Lister()}
	volumes := provisioner{client: client, folder: folder}
	if _, err := factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(volumes.claims(ctx)); err != nil {
		return err
	}
	if _, err := factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(volumes.volumes(ctx)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	conn, err := net.ListenPacket("udp", listen)
	if err != nil {
		return err
	}
	return errors.Join(names.serve(conn), conn.Close())
}
