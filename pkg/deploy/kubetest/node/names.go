package main

import (
	"context"
	"log"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
)

// names answers for A records of NAME.NAMESPACE.svc.cluster.local. The cluster has no
// route to another resolver, so that every other name is one that does not exist.
type names struct{ services listers.ServiceLister }

func (n names) serve(conn net.PacketConn) error {
	buf := make([]byte, 4096)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return err
		}
		var query dnsmessage.Message
		if query.Unpack(buf[:size]) != nil || len(query.Questions) != 1 {
			continue
		}
		reply, err := n.answer(query).Pack()
		if err != nil {
			log.Print(err)
			continue
		}
		conn.WriteTo(reply, from) // a client that got nothing asks again
	}
}

// answer resolves one question; a name that exists without the asked type has an
// answer without records, so that a client does not try the next search domain.
func (n names) answer(query dnsmessage.Message) *dnsmessage.Message {
	q := query.Questions[0]
	reply := &dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionDesired: query.RecursionDesired, RecursionAvailable: true},
		Questions: query.Questions,
	}
	s := n.find(strings.ToLower(q.Name.String()))
	if s == nil {
		reply.RCode = dnsmessage.RCodeNameError
		return reply
	}
	ip := net.ParseIP(s.Spec.ClusterIP).To4()
	if q.Type != dnsmessage.TypeA || ip == nil {
		return reply
	}
	reply.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 5},
		Body:   &dnsmessage.AResource{A: [4]byte(ip)},
	}}
	return reply
}

func (n names) find(name string) *corev1.Service {
	name, ok := strings.CutSuffix(name, ".svc.cluster.local.")
	service, namespace, two := strings.Cut(name, ".")
	if !ok || !two {
		return nil
	}
	s, err := n.services.Services(namespace).Get(service)
	if err != nil {
		return nil
	}
	return s
}

// announce puts the address where pods look for names before this process.
func announce(ctx context.Context, client kubernetes.Interface, listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	udp, port, name := corev1.ProtocolUDP, int32(53), "dns"
	_, err = client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.10", // that of the kubelet's clusterDNS
			Ports:     []corev1.ServicePort{{Name: name, Port: port, Protocol: udp}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "kube-dns-1", Labels: map[string]string{discoveryv1.LabelServiceName: "kube-dns"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &udp}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
