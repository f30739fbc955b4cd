// Package csv contains the ClusterServiceVersion (CSV) controller. It installs an operator once its requirements are
// met, hands over from one version to the next, and cleans up after CSVs that were replaced or deleted.
package csv

import (
	"context"
	"fmt"
	"sync"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/status/condition"
	csvstatus "github.com/operator-status/operator-status/internal/status/csv"
)

// FieldOwner is the field manager of the objects that an operator consists of.
const FieldOwner = install.FieldOwner

// Reconciler reconciles CSVs.
type Reconciler struct {
	// Client reads from the cache. Of the objects of operators it has only those with install.LabelManaged.
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	// As returns a client that impersonates a service account.
	As func(types.NamespacedName) (client.Client, error)

	// Records stores the grants of InstallPlans to CSVs.
	Records *record.Store

	// Trust determines the identity that operators are installed as.
	Trust apply.Trust

	// Rights enqueues CSVs that wait for a permission when permissions change.
	Rights *apply.Rights

	Recorder events.EventRecorder

	// Discovery lists the kinds of the cluster, and returns its version of Kubernetes.
	Discovery discovery.DiscoveryInterface

	Now func() time.Time

	written    kube.Written
	handovers  handovers
	controller controller.Controller
}

// Verdict is the decision about a CSV.
type Verdict struct {
	Phase        olm.ClusterServiceVersionPhase
	Reason       string
	Message      string
	Certificates install.Certificates

	// Again is the delay before a requeue without an event. Zero means never.
	Again time.Duration
}

// situation holds a CSV and the inputs of the decision about it, read at one moment.
type situation struct {
	csv     *v1alpha1.ClusterServiceVersion
	csvs    map[string]*v1alpha1.ClusterServiceVersion // related ones, by name
	running *v1alpha1.ClusterServiceVersion            // the CSV that runs while this one is installed, or nil for a first install

	group        *operatorsv1.OperatorGroup // nil with a problem
	groupProblem *condition.Problem
	targets      []string
	absent       []string // those of targets that do not exist or are being deleted

	record *record.Grant    // nil if nothing was granted, nor written outside the namespace
	plan   *olm.InstallPlan // that is to grant it, or nil

	static []*operatorsv1.OperatorGroup // static ones of other namespaces that overlap with the targets
	rivals []rival

	kubernetes string // version of the API server, if the operator requires one

	requirements []olm.RequirementStatus // nil until they have been read
	explained    []olm.RequirementStatus // the same with detailed messages
	retry        time.Duration           // of requirements whose changes cause no event
	installer    func() (client.Client, error)
}

// Reconcile advances one CSV as far as possible and updates its status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := r.Client.Get(ctx, request.NamespacedName, csv); apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.gone(ctx, request.NamespacedName)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if csv.IsCopied() || r.written.Behind(csv) {
		return reconcile.Result{}, nil
	}
	if !csv.DeletionTimestamp.IsZero() {
		return r.cleanUp(ctx, csv)
	}
	s, err := r.read(ctx, csv)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of ClusterServiceVersion %s: %w", request, err)
	}
	verdict, err := r.decide(ctx, s)
	if err != nil {
		return reconcile.Result{}, err
	}
	verdict, failure := r.act(ctx, s, verdict)
	if verdict == nil {
		return reconcile.Result{}, failure
	}
	if verdict.Phase == olm.CSVPhaseDeleting && failure == nil {
		return kube.Requeue(r.retire(ctx, s, verdict))
	}
	if err := r.report(ctx, s, verdict); err != nil {
		return kube.Requeue(reconcile.Result{}, err)
	}
	return reconcile.Result{RequeueAfter: verdict.Again}, failure
}

func (r *Reconciler) read(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) (*situation, error) {
	csvs, err := r.related(ctx, csv)
	if err != nil {
		return nil, err
	}
	out := &situation{csv: csv, csvs: csvs}
	out.installer = sync.OnceValues(func() (client.Client, error) { return r.installer(ctx, out) })
	if csv.Spec.Replaces != csv.Name {
		out.running = csvchain.Running(csvs, csv.Spec.Replaces)
	}
	return out, nil
}

// act marks a CSV as a member of its OperatorGroup, and installs it if it was not decided otherwise. An error is
// returned with a verdict if the administrator should see it.
func (r *Reconciler) act(ctx context.Context, s *situation, decided *Verdict) (*Verdict, error) {
	if s.group != nil {
		if err := r.annotate(ctx, s); err != nil {
			return nil, err
		}
		if err := r.finalize(ctx, s); err != nil {
			return nil, err
		}
	}
	if decided != nil {
		return decided, nil
	}
	verdict, err := r.install(ctx, s)
	logVerdict(ctx, "Install", verdict)
	return verdict, err
}

// report updates the status if it changed.
func (r *Reconciler) report(ctx context.Context, s *situation, v *Verdict) error {
	in := csvstatus.Inputs{
		CSV:          s.csv,
		Decision:     csvstatus.Decision{Phase: v.Phase, Reason: olm.ConditionReason(v.Reason), Message: v.Message},
		Requirements: s.requirements,
		Replaced:     s.running,
		Now:          metav1.NewTime(r.Now()),
	}
	if updated, rotate := v.Certificates.LastUpdated(), v.Certificates.RotateAt(); updated != nil {
		in.CertsLastUpdated, in.CertsRotateAt = updated, rotate
	}
	var err error
	if in.Probe, err = annotations.Find(ctx, r.Client, client.ObjectKeyFromObject(s.csv)); err != nil {
		return err
	}
	status := csvstatus.Compute(in)
	if equality.Semantic.DeepEqual(status, s.csv.Status) {
		log.FromContext(ctx).V(2).Info("Skipping the status update, since nothing changed")
		return nil
	}
	wait := condition.MessageInterval - in.Now.Sub(ptr.Deref(s.csv.Status.LastUpdateTime, metav1.Time{}).Time)
	if wait > 0 && csvstatus.SameExceptMessages(status, s.csv.Status) {
		if v.Again == 0 || v.Again > wait {
			v.Again = wait
		}
		log.FromContext(ctx).V(1).Info("Delaying the status update, since only messages changed", "requeueAfter", v.Again)
		return nil
	}
	if status.Phase != s.csv.Status.Phase {
		log.FromContext(ctx).Info("Changed ClusterServiceVersion phase", "from", s.csv.Status.Phase, "to", status.Phase, "reason", status.Reason, "message",
			status.Message)
	}
	out := s.csv.DeepCopy() // the API server ignores everything but its status
	out.Status = status
	if err := kube.UpdateStatus(ctx, r.Client, out, FieldOwner); err != nil {
		return err
	}
	r.written.Note(out)
	r.announce(s.csv, out)
	s.csv = out
	return nil
}
